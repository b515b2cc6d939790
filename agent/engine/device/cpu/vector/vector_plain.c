// SPDX-License-Identifier: Apache-2.0
/* vector.inc for one instruction set, which the Makefile gives the compiler for this file. */
#define VECTOR_ISA ISA_PLAIN
#define VECTOR_OPS vector_ops_plain
#define VECTOR_LANES 4
#define DIRECT_PIXELS 6
#include "agent/engine/device/cpu/vector/vector.inc"
