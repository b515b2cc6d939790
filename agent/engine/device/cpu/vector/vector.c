// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/vector/vector.h"

const struct vector_ops *vector_ops_get(enum isa isa) {
    switch (isa) {
    case ISA_AVX512:
        return &vector_ops_avx512;
    case ISA_AVX2:
        return &vector_ops_avx2;
    default:
        return &vector_ops_plain;
    }
}
