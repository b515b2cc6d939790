// SPDX-License-Identifier: Apache-2.0
// The Makefile compiles this file for the instruction set that it names.
#define VECTOR_ISA ISA_PLAIN
#define VECTOR_OPS vector_ops_plain
#define VECTOR_LANES 4
#define DIRECT_PIXELS 6
#include "agent/engine/device/cpu/fast/vector.inc"
