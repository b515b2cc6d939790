// SPDX-License-Identifier: Apache-2.0
#include "operator/embedded.h"

#include <stddef.h>

__asm__(".section .rodata\n"
        ".global embedded_batchscore\n"
        ".hidden embedded_batchscore\n"
        "embedded_batchscore: .incbin \"crds/batchscore.yaml\"\n"
        ".byte 0\n"
        ".global embedded_disttrain\n"
        ".hidden embedded_disttrain\n"
        "embedded_disttrain: .incbin \"crds/disttrain.yaml\"\n"
        ".byte 0\n"
        ".global embedded_sweep\n"
        ".hidden embedded_sweep\n"
        "embedded_sweep: .incbin \"crds/sweep.yaml\"\n"
        ".byte 0\n"
        ".previous\n");

extern const char embedded_batchscore[], embedded_disttrain[], embedded_sweep[];

const struct embedded embedded_crds[] = {
    {"crds/batchscore.yaml", embedded_batchscore},
    {"crds/disttrain.yaml", embedded_disttrain},
    {"crds/sweep.yaml", embedded_sweep},
    {NULL, NULL},
};
