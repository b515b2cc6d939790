// SPDX-License-Identifier: Apache-2.0
#include "agent/train/dataset/order.h"

#include <assert.h>

int64_t order_place(uint64_t seed, int64_t epoch, int64_t count, int64_t place) {
    return philox_permute(seed, epoch, count, place);
}

int64_t order_steps(int64_t count, int64_t batch_size) {
    assert(count >= 1 && batch_size >= 1);
    return (count - 1) / batch_size + 1;
}

struct order_batch order_find_batch(int64_t count, int64_t batch_size, int64_t step) {
    int64_t steps = order_steps(count, batch_size), first = step % steps * batch_size;
    return (struct order_batch){step / steps, first, MIN(batch_size, count - first)};
}

struct order_slice order_find_slice(int64_t count, int rank, int size) {
    assert(rank >= 0 && rank < size);
    int64_t least = count / size, more = count % size; /* the first `more` ranks have one more */
    return (struct order_slice){rank * least + MIN(rank, more), least + (rank < more)};
}
