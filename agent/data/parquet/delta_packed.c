// SPDX-License-Identifier: Apache-2.0
#include "agent/data/parquet/delta_packed.h"

static bool take_varint(struct delta_packed *delta, uint64_t *ret_number) {
    uint64_t number = 0;
    for (int shift = 0; shift < 64 && delta->at < delta->end; shift += 7) {
        uint8_t byte = *delta->at++;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_number = number;
            return true;
        }
    }
    return false;
}

static uint64_t from_zigzag(uint64_t number) {
    return number >> 1 ^ (~(number & 1) + 1);
}

bool delta_packed_open(const uint8_t *data, size_t size, struct delta_packed *ret_delta) {
    struct delta_packed delta = {.at = data, .end = data + size};
    uint64_t block, first;
    if (!take_varint(&delta, &block) || !take_varint(&delta, &delta.miniblocks) ||
        !take_varint(&delta, &delta.left) || !take_varint(&delta, &first)) {
        return false;
    }
    if (delta.miniblocks == 0 || block % delta.miniblocks != 0) {
        return false;
    }
    delta.per_miniblock = block / delta.miniblocks;
    delta.miniblock = delta.miniblocks;
    delta.number = from_zigzag(first);
    delta.is_first = true;
    *ret_delta = delta;
    return delta.per_miniblock > 0 && delta.per_miniblock % 8 == 0 &&
           delta.per_miniblock <= DELTA_PACKED_MINIBLOCK_MAX;
}

static bool next_miniblock(struct delta_packed *delta) {
    if (delta->miniblock == delta->miniblocks) {
        uint64_t least;
        if (!take_varint(delta, &least) || delta->miniblocks > (uint64_t)(delta->end - delta->at)) {
            return false;
        }
        delta->least = from_zigzag(least);
        delta->widths = delta->at;
        delta->at += delta->miniblocks;
        delta->miniblock = 0;
    }
    delta->width = delta->widths[delta->miniblock++];
    uint64_t bytes = delta->per_miniblock / 8 * (unsigned)delta->width;
    if (delta->width > 64 || bytes > (uint64_t)(delta->end - delta->at)) {
        return false;
    }
    delta->packed = delta->at;
    delta->at += bytes;
    delta->in_miniblock = delta->per_miniblock;
    delta->taken = 0;
    return true;
}

/* `some` differences of the current miniblock. */
static void take_some(struct delta_packed *delta, uint64_t some, int64_t *numbers) {
    uint64_t number = delta->number, least = delta->least;
    uint64_t bit = delta->taken * (unsigned)delta->width;
    for (uint64_t i = 0; i < some; i++, bit += (unsigned)delta->width) {
        number += least + (delta->width ? bit_runs_number(delta->packed, bit, delta->width) : 0);
        numbers[i] = (int64_t)number;
    }
    delta->number = number;
    delta->taken += some;
    delta->in_miniblock -= some;
}

bool delta_packed_take(struct delta_packed *delta, size_t count, int64_t *numbers) {
    if (count > delta->left) {
        return false;
    }
    delta->left -= count;
    if (count > 0 && delta->is_first) {
        *numbers++ = (int64_t)delta->number;
        delta->is_first = false;
        count--;
    }
    while (count > 0) {
        if (delta->in_miniblock == 0 && !next_miniblock(delta)) {
            return false;
        }
        uint64_t some = MIN(delta->in_miniblock, (uint64_t)count);
        take_some(delta, some, numbers);
        numbers += some;
        count -= some;
    }
    return true;
}

const uint8_t *delta_packed_end(struct delta_packed delta) {
    uint64_t left = delta.left - (delta.left > 0 && delta.is_first);
    uint64_t of_miniblock = MIN(left, delta.in_miniblock);
    left -= of_miniblock;
    while (left > 0) {
        if (!next_miniblock(&delta)) {
            return NULL;
        }
        left -= MIN(left, delta.per_miniblock);
    }
    return delta.at;
}
