// SPDX-License-Identifier: Apache-2.0
#include "agent/data/parquet/lz_block.h"

#include <string.h>

enum { WIDE = 16 /* bytes that a short copy may write beyond its end, where there is room */ };

struct lz {
    const uint8_t *in, *in_end;
    uint8_t *begin, *out, *out_end;
};

static bool literal(struct lz *lz, size_t size) {
    if (size > (size_t)(lz->in_end - lz->in) || size > (size_t)(lz->out_end - lz->out)) {
        return false;
    }
    if (size <= WIDE && lz->in_end - lz->in >= WIDE && lz->out_end - lz->out >= WIDE) {
        memcpy(lz->out, lz->in, WIDE);
    } else {
        memcpy(lz->out, lz->in, size);
    }
    lz->in += size;
    lz->out += size;
    return true;
}

/* Copies what is `back` bytes before; what it writes may be what it reads. */
static bool copy(struct lz *lz, size_t back, size_t size) {
    if (back == 0 || back > (size_t)(lz->out - lz->begin) ||
        size > (size_t)(lz->out_end - lz->out)) {
        return false;
    }
    uint8_t *to = lz->out, *end = to + size;
    const uint8_t *from = to - back;
    lz->out = end;
    if (back >= WIDE && lz->out_end - end >= WIDE) {
        do {
            memcpy(to, from, WIDE);
            to += WIDE;
            from += WIDE;
        } while (to < end);
        return true;
    }
    if (back >= 8 && lz->out_end - end >= WIDE) {
        do {
            memcpy(to, from, 8);
            to += 8;
            from += 8;
        } while (to < end);
        return true;
    }
    while (to < end) {
        *to++ = *from++;
    }
    return true;
}

/* A little-endian number of `bytes` bytes. */
static bool take(struct lz *lz, int bytes, size_t *ret_number) {
    size_t number = 0;
    if (lz->in_end - lz->in < bytes) {
        return false;
    }
    for (int i = 0; i < bytes; i++) {
        number |= (size_t)lz->in[i] << (8 * i);
    }
    lz->in += bytes;
    *ret_number = number;
    return true;
}

/* ---- Snappy --------------------------------------------------------------------------------- */

static bool snappy_length(struct lz *lz, size_t *ret_length) {
    size_t length = 0;
    for (int shift = 0; shift < 35; shift += 7) {
        size_t byte;
        if (!take(lz, 1, &byte)) {
            return false;
        }
        length |= (byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_length = length;
            return true;
        }
    }
    return false;
}

static bool snappy_step(struct lz *lz) {
    size_t tag = *lz->in++, back = 0, size = tag >> 2, low = 0;
    switch (tag & 3) {
    case 0:
        if (size >= 60 && !take(lz, (int)size - 59, &size)) {
            return false;
        }
        return literal(lz, size + 1);
    case 1:
        return take(lz, 1, &low) && copy(lz, (tag >> 5) << 8 | low, (size & 7) + 4);
    case 2:
        return take(lz, 2, &back) && copy(lz, back, size + 1);
    default:
        return take(lz, 4, &back) && copy(lz, back, size + 1);
    }
}

bool lz_block_snappy(const uint8_t *in, size_t size_in, uint8_t *out, size_t size_out) {
    struct lz lz = {in, in + size_in, out, out, out + size_out};
    size_t length = 0;
    bool is_sound = snappy_length(&lz, &length) && length == size_out;
    while (is_sound && lz.in < lz.in_end) {
        is_sound = snappy_step(&lz);
    }
    return is_sound && lz.out == lz.out_end;
}

/* ---- LZ4 ------------------------------------------------------------------------------------ */

/* A size of 15 goes on in further bytes. */
static bool lz4_size(struct lz *lz, size_t nibble, size_t *ret_size) {
    size_t size = nibble, byte = nibble == 15 ? 255 : 0;
    while (byte == 255) {
        if (!take(lz, 1, &byte)) {
            return false;
        }
        size += byte;
    }
    *ret_size = size;
    return true;
}

bool lz_block_lz4(const uint8_t *in, size_t size_in, uint8_t *out, size_t size_out) {
    struct lz lz = {in, in + size_in, out, out, out + size_out};
    while (lz.in < lz.in_end) {
        size_t token = *lz.in++, size, back;
        if (!lz4_size(&lz, token >> 4, &size) || !literal(&lz, size)) {
            return false;
        }
        if (lz.in == lz.in_end) { /* the last one has no copy */
            break;
        }
        if (!take(&lz, 2, &back) || !lz4_size(&lz, token & 15, &size) ||
            !copy(&lz, back, size + 4)) {
            return false;
        }
    }
    return lz.out == lz.out_end;
}
