// SPDX-License-Identifier: Apache-2.0
/* As Microsoft's "Advanced Systems Format (ASF) Specification" has it: a header object that has
 * others in it, one with all packets, indexes. Each begins with its kind and its size. */
#include "agent/data/video/container/asf.h"

#include <string.h>

enum {
    KIND_BYTES = 8, /* of 16, enough to know it */
    SIZE_AT = 16,
    OBJECT_BYTES = 24,
    HEADER_BYTES = 30, /* before the first object in it */
    OBJECTS_MAX = 1024,
    PACKETS_HEADER_BYTES = 50,
    FLAGS_AT = 88, /* in the properties */
    LEAST_AT = 92, /* the bytes of a packet */
    MOST_AT = 96,
    PROPERTIES_BYTES = 104,
    IS_LIVE = 1,
};

uint64_t asf_number(const uint8_t *bytes, int count) {
    uint64_t value = 0;
    while (count-- > 0) {
        value = value << 8 | bytes[count];
    }
    return value;
}

/* The properties are one of the objects in the header, whose size is given. */
static void read_properties(struct video_source *source, uint64_t size, struct asf *asf) {
    static const uint8_t kind[KIND_BYTES] = {0xA1, 0xDC, 0xAB, 0x8C, 0x47, 0xA9, 0xCF, 0x11};
    uint8_t bytes[PROPERTIES_BYTES];
    uint64_t at = HEADER_BYTES;
    for (int i = 0; i < OBJECTS_MAX && at < size; i++) {
        int64_t got = video_source_read(source, (int64_t)at, bytes, sizeof bytes);
        uint64_t length = got < OBJECT_BYTES ? 0 : asf_number(bytes + SIZE_AT, 8);
        if (length < OBJECT_BYTES || length > size - at) {
            return;
        }
        if (got == PROPERTIES_BYTES && memcmp(bytes, kind, sizeof kind) == 0) {
            uint64_t least = asf_number(bytes + LEAST_AT, 4);
            asf->is_live = bytes[FLAGS_AT] & IS_LIVE;
            asf->packet_bytes = least == asf_number(bytes + MOST_AT, 4) ? (int64_t)least : 0;
            return;
        }
        at += length;
    }
}

bool asf_read(struct video_source *source, struct asf *ret_asf) {
    static const uint8_t packets[KIND_BYTES] = {0x36, 0x26, 0xB2, 0x75, 0x8E, 0x66, 0xCF, 0x11};
    uint8_t bytes[OBJECT_BYTES];
    *ret_asf = (struct asf){0};
    if (video_source_read(source, 0, bytes, sizeof bytes) < OBJECT_BYTES) {
        return false;
    }
    uint64_t at = asf_number(bytes + SIZE_AT, 8);
    if (at > (uint64_t)video_source_size(source) ||
        video_source_read(source, (int64_t)at, bytes, sizeof bytes) < OBJECT_BYTES ||
        memcmp(bytes, packets, sizeof packets) != 0) {
        return false;
    }
    uint64_t length = asf_number(bytes + SIZE_AT, 8);
    ret_asf->packets_at = (int64_t)at + PACKETS_HEADER_BYTES;
    ret_asf->end = length < INT64_MAX ? at + length : 0;
    read_properties(source, at, ret_asf);
    return true;
}

bool asf_is_index(struct video_source *source, int64_t at) {
    static const uint8_t kinds[][KIND_BYTES] = {
        {0x90, 0x08, 0x00, 0x33, 0xB1, 0xE5, 0xCF, 0x11}, /* simple */
        {0xD3, 0x29, 0xE2, 0xD6, 0xDA, 0x35, 0xD1, 0x11}, /* of all tracks */
        {0xF8, 0x03, 0xB1, 0xFE, 0xAD, 0x12, 0x64, 0x4C}, /* of media objects */
        {0xD0, 0x3F, 0xB7, 0x3C, 0x4A, 0x0C, 0x03, 0x48}, /* of time codes */
    };
    uint8_t bytes[OBJECT_BYTES];
    if (at < 0 || video_source_read(source, at, bytes, sizeof bytes) < OBJECT_BYTES) {
        return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (memcmp(bytes, kinds[i], KIND_BYTES) == 0) {
            return asf_number(bytes + SIZE_AT, 8) <= (uint64_t)(video_source_size(source) - at);
        }
    }
    return false;
}
