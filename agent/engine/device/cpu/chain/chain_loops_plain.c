// SPDX-License-Identifier: Apache-2.0
/* chain_loops.inc for one instruction set, which the Makefile gives the compiler for this file. */
#define VECTOR_LANES 4
#define CHAIN_LOOPS chain_loops_plain
#include "agent/engine/device/cpu/chain/chain_loops.inc"
