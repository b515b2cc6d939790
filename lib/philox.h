/* chance.h: chance as a function of numbers instead of state: who is started again, or comes from
 * elsewhere, draws the same. PURE. */
#pragma once

#include "lib/base.h"

/* 64 random bits: the draw-th of what happens to a sample in an epoch (whatever the caller calls
 * so: all three are numbers of its own). */
uint64_t philox_bits(uint64_t seed, int64_t epoch, int64_t sample, uint32_t draw);
/* Of such bits: evenly from 0 (included) to 1 (excluded). */
double philox_unit(uint64_t bits);
/* Of such bits: evenly from 0 to count - 1; count is at least 1 and below 2^32. */
int64_t philox_below(uint64_t bits, int64_t count);

#define PHILOX_COUNT_MAX ((int64_t)1 << 40)
/* What comes, of 0..count-1, at a place of 0..count-1: for each seed and epoch another bijection.
 * Independent of chance(). count is PHILOX_COUNT_MAX at most. */
int64_t philox_permute(uint64_t seed, int64_t epoch, int64_t count, int64_t place);
