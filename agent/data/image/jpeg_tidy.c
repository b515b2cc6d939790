// SPDX-License-Identifier: Apache-2.0
#include "agent/data/image/jpeg_tidy.h"

#include <stdlib.h>
#include <string.h>

enum {
    MARK_SOF0 = 0xC0,
    MARK_DHT = 0xC4,
    MARK_JPG = 0xC8,
    MARK_DAC = 0xCC,
    MARK_SOF15 = 0xCF,
    MARK_RST0 = 0xD0,
    MARK_RST7 = 0xD7,
    MARK_EOI = 0xD9,
    MARK_SOS = 0xDA,
    MARK_APP0 = 0xE0,
    MARK_APP14 = 0xEE,
};

struct copy {
    const uint8_t *bytes;
    size_t size, at;
    uint8_t *to;
    size_t done;
    uint8_t *transform; /* of colors, in the copy, as Adobe's programs write it; NULL: not yet */
    bool is_progressive;
    int components;
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

static bool is_frame(int marker) {
    return marker >= MARK_SOF0 && marker <= MARK_SOF15 && marker != MARK_DHT &&
           marker != MARK_JPG && marker != MARK_DAC;
}

/* Numbers that libjpeg warns of get the value with which it goes on. */
static void settle(struct copy *copy, uint8_t *segment, size_t length) {
    enum { PARAMETERS = 3, TRANSFORM_AT = 15, ADOBE = 16, JFIF = 16, JFIF_MAJOR_AT = 9 };
    int marker = segment[1];
    if (is_frame(marker) && length > 9) {
        copy->is_progressive = (marker & 3) == 2;
        copy->components = segment[9];
    } else if (marker == MARK_APP0 && length >= JFIF && memcmp(segment + 4, "JFIF", 5) == 0) {
        segment[JFIF_MAJOR_AT] = 1;
    } else if (marker == MARK_APP14 && length >= ADOBE && memcmp(segment + 4, "Adobe", 5) == 0) {
        copy->transform = segment + TRANSFORM_AT;
    } else if (marker == MARK_SOS) {
        uint8_t known = copy->components == 4 ? 2 : 1;
        if (copy->transform && *copy->transform != 0) {
            *copy->transform = known;
        }
        if (!copy->is_progressive && length >= 4 + PARAMETERS) {
            memcpy(segment + length - PARAMETERS, "\0\77", PARAMETERS);
        }
    }
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
        settle(copy, copy->to + copy->done - length, length);
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
