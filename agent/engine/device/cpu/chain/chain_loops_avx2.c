// SPDX-License-Identifier: Apache-2.0
/* chain_loops.inc for one instruction set, which the Makefile gives the compiler for this file. */
#define VECTOR_LANES 8
#define CHAIN_LOOPS chain_loops_avx2
#include "agent/engine/device/cpu/chain/chain_loops.inc"
