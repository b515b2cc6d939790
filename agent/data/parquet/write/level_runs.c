// SPDX-License-Identifier: Apache-2.0
#include "agent/data/parquet/write/level_runs.h"

enum { GROUP = 8 /* values of a packed group, and the shortest run that pays */ };

int level_runs_bits(uint32_t most) {
    return most == 0 ? 0 : 32 - __builtin_clz(most);
}

static int add_varint(struct buffer *out, uint64_t value, struct error *err) {
    unsigned char bytes[10];
    size_t size = 0;
    for (; value >= 0x80; value >>= 7) {
        bytes[size++] = (unsigned char)(0x80 | (value & 0x7f));
    }
    bytes[size++] = (unsigned char)value;
    return buffer_append(out, bytes, size, err);
}

static size_t run_of(const uint32_t *values, size_t count) {
    size_t run = 1;
    while (run < count && values[run] == values[0]) {
        run++;
    }
    return run;
}

static int add_run(struct buffer *out, uint32_t value, size_t count, int bits, struct error *err) {
    unsigned char bytes[4] = {(unsigned char)value, (unsigned char)(value >> 8),
                              (unsigned char)(value >> 16), (unsigned char)(value >> 24)};
    return add_varint(out, (uint64_t)count << 1, err) < 0
               ? -1
               : buffer_append(out, bytes, ((size_t)bits + 7) / 8, err);
}

static int add_packed(struct buffer *out, const uint32_t *values, size_t count, int bits,
                      struct error *err) {
    size_t groups = (count + GROUP - 1) / GROUP, size = 0;
    uint64_t waiting = 0;
    int have = 0;
    char *bytes = NULL;
    if (add_varint(out, (uint64_t)groups << 1 | 1, err) < 0 ||
        buffer_extend(out, groups * (size_t)bits, &bytes, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < groups * GROUP; i++) {
        waiting |= (uint64_t)(i < count ? values[i] : 0) << have;
        for (have += bits; have >= 8; have -= 8, waiting >>= 8) {
            bytes[size++] = (char)waiting;
        }
    }
    return 0;
}

/* How many values from here on are packed: whole groups, until a run begins that pays. */
static size_t packed_of(const uint32_t *values, size_t count) {
    size_t size = GROUP;
    while (size < count && run_of(values + size, MIN(count - size, (size_t)GROUP)) < GROUP) {
        size += GROUP;
    }
    return MIN(size, count);
}

int level_runs_add(struct buffer *out, const uint32_t *values, size_t count, int bits,
                   struct error *err) {
    for (size_t at = 0; at < count;) {
        size_t run = run_of(values + at, count - at);
        bool is_run = run >= GROUP;
        size_t size = is_run ? run : packed_of(values + at, count - at);
        int done = is_run ? add_run(out, values[at], size, bits, err)
                          : add_packed(out, values + at, size, bits, err);
        if (done < 0) {
            return -1;
        }
        at += size;
    }
    return 0;
}
