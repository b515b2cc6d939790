// SPDX-License-Identifier: Apache-2.0
#include "agent/data/parquet/write/value_range.h"

#include <string.h>

void value_range_clear(struct value_range *range) {
    *range = (struct value_range){0};
}

#define COMPARE(number)                                                                            \
    do {                                                                                           \
        number left, right;                                                                        \
        memcpy(&left, a, sizeof left);                                                             \
        memcpy(&right, b, sizeof right);                                                           \
        return (left > right) - (left < right);                                                    \
    } while (0)

static int compare_numbers(enum parquet_type type, const void *a, const void *b) {
    switch (type) {
    case PARQUET_BOOLEAN:
        COMPARE(uint8_t);
    case PARQUET_INT64:
        COMPARE(int64_t);
    case PARQUET_FLOAT:
        COMPARE(float);
    default:
        COMPARE(double);
    }
}

static int compare_bytes(const void *a, size_t a_size, const void *b, size_t b_size) {
    int order = memcmp(a, b, MIN(a_size, b_size));
    return order ? order : (a_size > b_size) - (a_size < b_size);
}

static void keep(unsigned char *kept, size_t *kept_size, const void *value, size_t size) {
    memcpy(kept, value, size);
    *kept_size = size;
}

void value_range_see(struct value_range *range, enum parquet_type type, const void *value,
                     size_t size) {
    if (range->is_lost || size > VALUE_RANGE_BYTES) {
        range->is_lost = true;
        return;
    }
    if (!range->is_there) {
        range->is_there = true;
        keep(range->min, &range->min_size, value, size);
        keep(range->max, &range->max_size, value, size);
        return;
    }
    bool is_text = type == PARQUET_BYTE_ARRAY;
    int low = is_text ? compare_bytes(value, size, range->min, range->min_size)
                      : compare_numbers(type, value, range->min);
    int high = is_text ? compare_bytes(value, size, range->max, range->max_size)
                       : compare_numbers(type, value, range->max);
    if (low < 0) {
        keep(range->min, &range->min_size, value, size);
    }
    if (high > 0) {
        keep(range->max, &range->max_size, value, size);
    }
}

bool value_range_end(struct value_range *range, enum parquet_type type) {
    bool is_float = type == PARQUET_FLOAT || type == PARQUET_DOUBLE;
    if (!range->is_there || range->is_lost) {
        return false;
    }
    static const unsigned char zeros[8];
    if (is_float && compare_numbers(type, range->min, zeros) == 0) {
        memset(range->min, 0, range->min_size);
        range->min[range->min_size - 1] = 0x80; /* -0, little-endian */
    }
    if (is_float && compare_numbers(type, range->max, zeros) == 0) {
        memset(range->max, 0, range->max_size);
    }
    return true;
}
