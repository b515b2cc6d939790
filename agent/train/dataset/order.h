/* order.h: the order of samples, as pure functions without state: every gang size sees the same
 * batches, and a resumed run needs only seed and step. At most PHILOX_COUNT_MAX samples. Pure. */
#pragma once

#include "lib/number/philox.h"

/* A place is a position in the shuffled order of an epoch. Returns the index of the sample at a
 * place, both in 0..count-1: a different permutation for each seed and epoch. */
int64_t order_place(uint64_t seed, int64_t epoch, int64_t count, int64_t place);

/* The key of dropout (internal.h: DropoutTraining) is philox_bits(seed, epoch, sample,
 * DRAW_DROPOUT), where sample is the index in the data set. augment.c uses smaller draws. */
enum { DRAW_DROPOUT = 1 << 16, DRAW_SUBSTITUTE = 1 << 17 /* bad_samples.h */ };

/* An epoch of `count` samples is divided into batches of the whole gang; the last one may be
 * smaller, but not empty. Step 0 is the first batch of epoch 0. */
struct order_batch {
    int64_t epoch, first, count; /* places */
};
int64_t order_steps(int64_t count, int64_t batch_size); /* of an epoch */
struct order_batch order_find_batch(int64_t count, int64_t batch_size, int64_t step);

/* The slice of `count` items for rank `rank` of `size`: slices are consecutive, without gaps, and
 * differ by at most one item. Empty for some ranks if there are fewer items than ranks. */
struct order_slice {
    int64_t first, count;
};
struct order_slice order_find_slice(int64_t count, int rank, int size);
