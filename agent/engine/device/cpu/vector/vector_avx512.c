// SPDX-License-Identifier: Apache-2.0
/* vector.inc for one instruction set, which the Makefile gives the compiler for this file. */
#define VECTOR_ISA ISA_AVX512
#define VECTOR_OPS vector_ops_avx512
#define VECTOR_LANES 16
#define DIRECT_PIXELS 14
#include "agent/engine/device/cpu/vector/vector.inc"
