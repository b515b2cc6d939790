// SPDX-License-Identifier: Apache-2.0
/* As https://ffmpeg.org/~michael/nut.txt has it. A frame begins with one byte, of which the main
 * header's table says what follows. */
#include "agent/data/video/container/nut_end.h"

#include "lib/base.h"

#include <string.h>

enum {
    START_BYTES = 8, /* of all packets but frames; they begin with 'N', and frames do not */
    CODES = 256,
    HEADERS_MAX = 128,     /* beginnings that frames have in common */
    COMMON_FRAME = 4096,   /* larger frames do not leave theirs out */
    CHECKED_PACKET = 4096, /* larger packets have a checksum of their header, too */
    CHECKSUM_BYTES = 4,
};

enum code_flags {
    FLAG_TIME = 1 << 3,
    FLAG_STREAM = 1 << 4,
    FLAG_SIZE = 1 << 5,
    FLAG_CHECKSUM = 1 << 6,
    FLAG_RESERVED = 1 << 7,
    FLAG_COMMON = 1 << 10,
    FLAG_MATCH = 1 << 11,
    FLAG_FLAGS = 1 << 12,
    FLAG_INVALID = 1 << 13,
};

struct code {
    uint64_t flags, size_step, size, reserved, common;
};

struct codes {
    struct code of[CODES];
    uint64_t common_sizes[HEADERS_MAX];
    uint64_t common_count;
};

struct reader {
    const uint8_t *at, *end;
    bool is_short; /* more was asked for than there is */
};

static uint64_t number(struct reader *reader) {
    uint64_t value = 0;
    while (reader->at < reader->end) {
        uint8_t byte = *reader->at++;
        value = value << 7 | (byte & 0x7F);
        if (!(byte & 0x80)) {
            return value;
        }
    }
    reader->is_short = true;
    return 0;
}

static void skip(struct reader *reader, uint64_t bytes) {
    reader->is_short |= bytes > (uint64_t)(reader->end - reader->at);
    reader->at = reader->is_short ? reader->end : reader->at + bytes;
}

static void skip_numbers(struct reader *reader, uint64_t count) {
    for (uint64_t i = 0; i < count && !reader->is_short; i++) {
        number(reader);
    }
}

/* Some codes in a row: the first of the numbers are there, the others as before, or 0. */
static int read_row(struct reader *reader, struct codes *codes, int from, struct code *one) {
    enum { TIME, SIZE_STEP, STREAM, SIZE, RESERVED, COUNT, MATCH, COMMON, KNOWN };
    one->flags = number(reader);
    uint64_t fields = number(reader), values[KNOWN] = {0};
    for (uint64_t i = 0; i < fields && !reader->is_short; i++) {
        uint64_t value = number(reader);
        if (i < KNOWN) {
            values[i] = value;
        }
    }
    one->size_step = fields > SIZE_STEP ? values[SIZE_STEP] : one->size_step;
    one->common = fields > COMMON ? values[COMMON] : one->common;
    one->reserved = values[RESERVED];
    uint64_t count = fields > COUNT ? values[COUNT] : one->size_step - values[SIZE];
    for (uint64_t i = 0; i < count && from < CODES; from++) {
        codes->of[from] = *one;
        codes->of[from].size = values[SIZE] + i;
        if (from == 'N') {
            codes->of[from].flags = FLAG_INVALID;
        } else {
            i++;
        }
    }
    return from;
}

static bool read_codes(const uint8_t *head, size_t size, struct codes *codes) {
    static const uint8_t start[START_BYTES] = {'N', 'M', 0x7A, 0x56, 0x1F, 0x5F, 0x04, 0xAD};
    const uint8_t *found = memmem(head, size, start, sizeof start);
    if (!found) {
        return false;
    }
    struct reader reader = {found + sizeof start, head + size, false};
    if (number(&reader) > CHECKED_PACKET) {
        skip(&reader, CHECKSUM_BYTES);
    }
    bool has_minor = number(&reader) > 3; /* of the version */
    skip_numbers(&reader, has_minor ? 3 : 2);
    uint64_t time_bases = number(&reader);
    skip_numbers(&reader, 2 * MIN(time_bases, (uint64_t)size));
    struct code one = {.size_step = 1};
    for (int code = 0; code < CODES && !reader.is_short;) {
        code = read_row(&reader, codes, code, &one);
    }
    codes->common_count = 1 + number(&reader);
    for (uint64_t i = 1; i < codes->common_count && i < HEADERS_MAX && !reader.is_short; i++) {
        codes->common_sizes[i] = number(&reader);
        skip(&reader, codes->common_sizes[i]);
    }
    return !reader.is_short && codes->common_count <= HEADERS_MAX;
}

/* Behind a frame's header: its content. False: no frame begins like this. */
static bool skip_frame(struct reader *reader, const struct codes *codes) {
    const struct code *code = &codes->of[*reader->at++];
    uint64_t flags = code->flags, size = code->size, reserved = code->reserved;
    uint64_t common = code->common;
    flags ^= flags & FLAG_FLAGS ? number(reader) : 0;
    skip_numbers(reader, flags & FLAG_STREAM ? 1 : 0);
    skip_numbers(reader, flags & FLAG_TIME ? 1 : 0);
    size += flags & FLAG_SIZE ? code->size_step * number(reader) : 0;
    skip_numbers(reader, flags & FLAG_MATCH ? 1 : 0);
    common = flags & FLAG_COMMON ? number(reader) : common;
    reserved = flags & FLAG_RESERVED ? number(reader) : reserved;
    skip_numbers(reader, reserved);
    skip(reader, flags & FLAG_CHECKSUM ? CHECKSUM_BYTES : 0);
    common = size > COMMON_FRAME ? 0 : common;
    if (flags & FLAG_INVALID || common >= codes->common_count) {
        return false;
    }
    uint64_t left_out = codes->common_sizes[common];
    if (!reader->is_short && left_out > size) {
        return false;
    }
    skip(reader, size - left_out);
    return true;
}

static void skip_packet(struct reader *reader) {
    skip(reader, START_BYTES);
    uint64_t size = number(reader);
    if (size > CHECKED_PACKET) {
        skip(reader, CHECKSUM_BYTES);
    }
    skip(reader, size);
}

enum nut_end nut_end_find(const uint8_t *head, size_t head_size, const uint8_t *tail,
                          size_t tail_size) {
    static const uint8_t start[START_BYTES] = {'N', 'K', 0xE4, 0xAD, 0xEE, 0xCA, 0x45, 0x69};
    struct codes codes = {0};
    const uint8_t *point = NULL, *end = tail + tail_size;
    for (const uint8_t *at = tail;
         (at = memmem(at, (size_t)(end - at), start, sizeof start)) != NULL; at++) {
        point = at;
    }
    if (!point || !read_codes(head, head_size, &codes)) {
        return NUT_END_UNKNOWN;
    }
    struct reader reader = {point, end, false};
    while (reader.at < end && !reader.is_short) {
        if (*reader.at == 'N') {
            skip_packet(&reader);
        } else if (!skip_frame(&reader, &codes)) {
            return NUT_END_UNKNOWN;
        }
    }
    return reader.is_short ? NUT_END_CUT : NUT_END_WHOLE;
}
