/* isa.h: which vector instructions to use on this processor. */
#pragma once

#include "lib/base.h"

enum isa { ISA_PLAIN, ISA_AVX2, ISA_AVX512, ISA_COUNT };

const char *isa_name(enum isa isa); /* "plain", "avx2", "avx512" */
/* Whether this processor, with this operating system, has these instructions. */
bool isa_runs_here(enum isa isa);
/* The best instruction set of this processor; the environment variable
 * WINDLASS_CPU_ISA=plain|avx2|avx512 can choose a lower one; other values are ignored. */
enum isa isa_best(void);
