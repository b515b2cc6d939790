/* philox.h: counter-based random numbers (Philox4x32-10): each number is a pure function of its
 * seed and counters, without state, so that a restarted or another process draws the same.
 * Source: Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC11. */
#pragma once

#include "lib/base.h"

/* 64 random bits for (seed, epoch, sample, draw). The counters' names suit training; their meaning
 * is the caller's. */
uint64_t philox_bits(uint64_t seed, int64_t epoch, int64_t sample, uint32_t draw);
/* Random bits to a uniform number in [0, 1). */
double philox_unit(uint64_t bits);
/* Random bits to a uniform number in [0, count); count is 1 to 2^32 - 1. */
int64_t philox_below(uint64_t bits, int64_t count);

#define PHILOX_COUNT_MAX ((int64_t)1 << 40)
/* A random permutation of 0 to count - 1, one per (seed, epoch): the value at an index. Independent
 * of philox_bits. count is 1 to PHILOX_COUNT_MAX. */
int64_t philox_permute(uint64_t seed, int64_t epoch, int64_t count, int64_t place);
