// SPDX-License-Identifier: Apache-2.0
#include "operator/embedded.h"

#include <stddef.h>

__asm__(".section .rodata\n"
        ".global embedded_batchscore\n"
        ".hidden embedded_batchscore\n"
        "embedded_batchscore: .incbin \"crds/batchscore.yaml\"\n"
        ".byte 0\n"
        ".previous\n");

extern const char embedded_batchscore[];

const struct embedded embedded_crds[] = {
    {"crds/batchscore.yaml", embedded_batchscore},
    {NULL, NULL},
};
