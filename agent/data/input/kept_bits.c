// SPDX-License-Identifier: Apache-2.0
#include "agent/data/input/kept_bits.h"

#include <stdlib.h>

void kept_bits_release(struct kept_bits *bits) {
    free(TAKE(bits->bits));
    bits->count = 0;
}

void kept_bits_set(struct kept_bits *bits, int64_t item, bool has_result) {
    if (item >= 0 && item < bits->count) {
        uint8_t mask = (uint8_t)(1u << (item % 8));
        uint8_t *byte = &bits->bits[item / 8];
        *byte = (uint8_t)(has_result ? *byte | mask : *byte & ~mask);
    }
}

struct list_results kept_bits_results(const struct kept_bits *bits) {
    return (struct list_results){.bits = bits->bits, .count = bits->count};
}
