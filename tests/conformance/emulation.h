/* emulation.h: whether a program of this folder is the one that is linked with the emulated GPU
 * (tests/cuda/cuda.mk), on which kernels take long. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

extern size_t emulated_allocated(void) __attribute__((weak));

static inline bool is_emulated(void) {
    return emulated_allocated != NULL;
}
