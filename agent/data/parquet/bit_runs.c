// SPDX-License-Identifier: Apache-2.0
#include "agent/data/parquet/bit_runs.h"

#include <string.h>

struct bit_runs bit_runs_over(const uint8_t *data, size_t size, int width) {
    return (struct bit_runs){.at = data, .end = data + size, .width = width};
}

static inline uint64_t load(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

uint64_t bit_runs_number(const uint8_t *data, uint64_t bit, int width) {
    const uint8_t *at = data + bit / 8;
    int shift = (int)(bit % 8);
    uint64_t number = load(at) >> shift;
    if (shift + width > 64) {
        number |= (uint64_t)at[8] << (64 - shift);
    }
    return width == 64 ? number : number & (((uint64_t)1 << width) - 1);
}

/* Eight numbers of a constant width at a byte: what the compiler unrolls. */
#define UNPACK(w)                                                                                  \
    case w:                                                                                        \
        for (; count >= 8; count -= 8, numbers += 8, data += (w)) {                                \
            for (unsigned i = 0; i < 8; i++) {                                                     \
                numbers[i] = (uint32_t)(load(data + i * (w) / 8) >> (i * (w) % 8)) &               \
                             (uint32_t)(((uint64_t)1 << (w)) - 1);                                 \
            }                                                                                      \
        }                                                                                          \
        break

static void unpack_aligned(const uint8_t *data, int width, size_t count, uint32_t *numbers) {
    switch (width) {
        UNPACK(1);
        UNPACK(2);
        UNPACK(3);
        UNPACK(4);
        UNPACK(5);
        UNPACK(6);
        UNPACK(7);
        UNPACK(8);
        UNPACK(9);
        UNPACK(10);
        UNPACK(11);
        UNPACK(12);
        UNPACK(13);
        UNPACK(14);
        UNPACK(15);
        UNPACK(16);
        UNPACK(17);
        UNPACK(18);
        UNPACK(19);
        UNPACK(20);
    default:
        break;
    }
    uint64_t mask = ((uint64_t)1 << width) - 1;
    for (size_t i = 0; i < count; i++) {
        uint64_t bit = i * (unsigned)width;
        numbers[i] = (uint32_t)(load(data + bit / 8) >> (bit % 8) & mask);
    }
}

static void unpack(const uint8_t *data, uint64_t bit, int width, size_t count, uint32_t *numbers) {
    for (; count > 0 && bit % 8 != 0; count--, bit += (unsigned)width) {
        *numbers++ = (uint32_t)bit_runs_number(data, bit, width);
    }
    unpack_aligned(data + bit / 8, width, count, numbers);
}

static bool next_run(struct bit_runs *runs) {
    uint64_t head = 0;
    int shift = 0, bytes = (runs->width + 7) / 8;
    for (;; shift += 7) {
        if (runs->at == runs->end || shift > 28) {
            return false;
        }
        uint8_t byte = *runs->at++;
        head |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            break;
        }
    }
    size_t rest = (size_t)(runs->end - runs->at);
    runs->is_packed = head & 1;
    if (runs->is_packed) { /* groups of 8; the last one may be cut by writers that save its bytes */
        uint64_t size = (head >> 1) * (unsigned)runs->width;
        runs->left = (head >> 1) * 8;
        if (size > rest) {
            runs->left = runs->width ? rest * 8 / (unsigned)runs->width : 0;
            size = rest;
        }
        runs->packed = runs->at;
        runs->bit = 0;
        runs->at += size;
        return true;
    }
    if ((size_t)bytes > rest) {
        return false;
    }
    runs->left = head >> 1;
    runs->number = 0;
    for (int i = 0; i < bytes; i++) {
        runs->number |= (uint32_t)*runs->at++ << (8 * i);
    }
    return true;
}

bool bit_runs_take(struct bit_runs *runs, size_t count, uint32_t *numbers) {
    while (count > 0) {
        if (runs->left == 0) {
            if (!next_run(runs)) {
                return false;
            }
            continue;
        }
        size_t some = (size_t)MIN(runs->left, (uint64_t)count);
        if (!runs->is_packed || runs->width == 0) {
            uint32_t number = runs->is_packed ? 0 : runs->number;
            for (size_t i = 0; i < some; i++) {
                numbers[i] = number;
            }
        } else {
            unpack(runs->packed, runs->bit, runs->width, some, numbers);
            runs->bit += some * (unsigned)runs->width;
        }
        runs->left -= some;
        numbers += some;
        count -= some;
    }
    return true;
}

bool bit_runs_take_same(struct bit_runs *runs, size_t count, uint32_t *ret_number) {
    while (runs->left == 0) {
        if (!next_run(runs)) {
            return false;
        }
    }
    if (runs->is_packed || runs->left < count) {
        return false;
    }
    runs->left -= count;
    *ret_number = runs->number;
    return true;
}
