// SPDX-License-Identifier: Apache-2.0
#include "agent/data/image/jpeg_tidy.h"

#include <stdlib.h>
#include <string.h>

enum { MARK_RST0 = 0xD0, MARK_RST7 = 0xD7, MARK_EOI = 0xD9, MARK_SOS = 0xDA };

struct copy {
    const uint8_t *bytes;
    size_t size, at;
    uint8_t *to;
    size_t done;
};

static void take(struct copy *copy, size_t count) {
    memcpy(copy->to + copy->done, copy->bytes + copy->at, count);
    copy->done += count;
    copy->at += count;
}

/* Goes to the next marker that is none of a scan's own; false: there is none. */
static bool find_marker(const struct copy *copy, size_t *ret_at) {
    for (size_t at = copy->at; at + 1 < copy->size; at++) {
        int next = copy->bytes[at + 1];
        if (copy->bytes[at] == 0xFF && next != 0 && next != 0xFF &&
            (next < MARK_RST0 || next > MARK_RST7)) {
            *ret_at = at;
            return true;
        }
    }
    return false;
}

static bool is_padding(const uint8_t *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != 0 && bytes[i] != 0xFF) {
            return false;
        }
    }
    return true;
}

static bool tidy(struct copy *copy, size_t padding) {
    size_t next = 0;
    take(copy, 2);
    for (bool is_scan = false; find_marker(copy, &next);) {
        int marker = copy->bytes[next + 1];
        if (is_scan) { /* its data */
            size_t left_out = marker == MARK_EOI ? padding : 0;
            if (next - copy->at < left_out ||
                !is_padding(copy->bytes + next - left_out, left_out)) {
                return false;
            }
            take(copy, next - left_out - copy->at);
        }
        copy->at = next;
        if (marker == MARK_EOI) {
            take(copy, 2);
            return true;
        }
        size_t room = copy->size - next, length = 0;
        if (room >= 4) {
            length = 2 + ((size_t)copy->bytes[next + 2] << 8 | copy->bytes[next + 3]);
        }
        if (length < 4 || length > room) {
            return false;
        }
        take(copy, length);
        is_scan = is_scan || marker == MARK_SOS;
    }
    return false;
}

uint8_t *jpeg_tidy(const uint8_t *bytes, size_t size, size_t padding, size_t *ret_size) {
    struct copy copy = {.bytes = bytes, .size = size};
    if (size < 4) {
        return NULL;
    }
    copy.to = x_malloc(size);
    if (!tidy(&copy, padding)) {
        free(copy.to);
        return NULL;
    }
    *ret_size = copy.done;
    return copy.to;
}
