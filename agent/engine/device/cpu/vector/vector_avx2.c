// SPDX-License-Identifier: Apache-2.0
/* vector.inc for one instruction set, which the Makefile gives the compiler for this file. */
#define VECTOR_ISA ISA_AVX2
#define VECTOR_OPS vector_ops_avx2
#define VECTOR_LANES 8
#define DIRECT_PIXELS 6
#include "agent/engine/device/cpu/vector/vector.inc"
