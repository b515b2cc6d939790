/* vector_bfloat_choice.h: which instructions for bfloat16 this processor has. */
#pragma once

#include "agent/engine/device/cpu/vector/vector_bfloat.h"

/* The best of this processor, which the environment variable WINDLASS_CPU_BF16=amx|avx512_bf16
 * can lower; "plain" gives loops for any processor, which tests use. NULL: it has none, or
 * WINDLASS_CPU_ISA chose an instruction set below AVX-512. */
const struct bfloat_ops *vector_bfloat_best(void);
/* The same by name; NULL: not on this processor. */
const struct bfloat_ops *vector_bfloat_get(const char *name);
