// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/isa.h"

#include <stdlib.h>
#include <string.h>

static const char *const NAMES[] = {"plain", "avx2", "avx512"};
_Static_assert(ARRAY_LEN(NAMES) == ISA_COUNT, "a name per instruction set");

const char *isa_name(enum isa isa) {
    return NAMES[isa];
}

bool isa_runs_here(enum isa isa) {
    __builtin_cpu_init();
    switch (isa) {
    case ISA_AVX512:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
    case ISA_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    default:
        return true;
    }
}

enum isa isa_best(void) {
    const char *wanted = getenv("WINDLASS_CPU_ISA");
    enum isa limit = ISA_AVX512;
    for (int i = 0; wanted && i < ISA_COUNT; i++) {
        limit = strcmp(wanted, NAMES[i]) == 0 ? (enum isa)i : limit;
    }
    while (limit > ISA_PLAIN && !isa_runs_here(limit)) {
        limit--;
    }
    return limit;
}
