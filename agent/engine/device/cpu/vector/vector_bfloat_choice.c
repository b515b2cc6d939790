// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/vector/vector_bfloat_choice.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#ifdef __x86_64__
enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 }; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA

// Linux saves tiles, 8 KiB of a thread's state, only for processes that ask for it.
static bool may_use_tiles(void) {
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

static bool has_bit(uint32_t leaf, uint32_t part, bool of_edx, int bit) {
    uint32_t a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(leaf, part, &a, &b, &c, &d) && ((of_edx ? d : a) >> bit & 1);
}

static bool has_avx512_bf16(void) {
    return isa_runs_here(ISA_AVX512) && has_bit(7, 1, false, 5);
}

static bool has_amx(void) {
    return has_avx512_bf16() && has_bit(7, 0, true, 24) && has_bit(7, 0, true, 22) &&
           may_use_tiles();
}

static bool amx_is_there;
static pthread_once_t amx_once = PTHREAD_ONCE_INIT;

static void look_for_amx(void) {
    amx_is_there = has_amx();
}
#endif

const struct bfloat_ops *vector_bfloat_get(const char *name) {
    if (strcmp(name, vector_bfloat_plain.name) == 0) {
        return &vector_bfloat_plain;
    }
#ifdef __x86_64__
    if (strcmp(name, vector_bfloat_avx512.name) == 0) {
        return isa_best() == ISA_AVX512 && has_avx512_bf16() ? &vector_bfloat_avx512 : NULL;
    }
    pthread_once(&amx_once, look_for_amx);
    if (strcmp(name, vector_bfloat_amx.name) == 0 && isa_best() == ISA_AVX512) {
        return amx_is_there ? &vector_bfloat_amx : NULL;
    }
#endif
    return NULL;
}

const struct bfloat_ops *vector_bfloat_best(void) {
    const char *wanted = getenv("WINDLASS_CPU_BF16");
    if (wanted && vector_bfloat_get(wanted)) {
        return vector_bfloat_get(wanted);
    }
    const struct bfloat_ops *amx = vector_bfloat_get("amx");
    return amx ? amx : vector_bfloat_get("avx512_bf16");
}
