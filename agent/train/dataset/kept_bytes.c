// SPDX-License-Identifier: Apache-2.0
#include "agent/train/dataset/kept_bytes.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct kept_bytes {
    int64_t count;
    atomic_int_fast64_t memory_bytes; /* still free */
    _Atomic(struct kept_one *) all[];
};

struct kept_bytes *kept_bytes_new(int64_t count, int64_t memory_bytes) {
    struct kept_bytes *kept = x_calloc(1, sizeof *kept + (size_t)count * sizeof *kept->all);
    kept->count = count;
    atomic_init(&kept->memory_bytes, memory_bytes);
    return kept;
}

void kept_bytes_free(struct kept_bytes *kept) {
    for (int64_t i = 0; kept && i < kept->count; i++) {
        free(atomic_load(&kept->all[i]));
    }
    free(kept);
}

const struct kept_one *kept_bytes_get(const struct kept_bytes *kept, int64_t index) {
    return atomic_load(&kept->all[index]);
}

void kept_bytes_add(struct kept_bytes *kept, int64_t index, const struct buffer *bytes) {
    int_fast64_t size = (int_fast64_t)(bytes->size + sizeof(struct kept_one));
    if (atomic_fetch_sub(&kept->memory_bytes, size) < size) {
        atomic_fetch_add(&kept->memory_bytes, size);
        return;
    }
    struct kept_one *one = x_malloc((size_t)size), *none = NULL;
    one->size = bytes->size;
    memcpy(one->bytes, bytes->data, bytes->size);
    if (!atomic_compare_exchange_strong(&kept->all[index], &none, one)) {
        free(one); /* another thread has read it in the meantime */
        atomic_fetch_add(&kept->memory_bytes, size);
    }
}
