// SPDX-License-Identifier: Apache-2.0
/* What level_runs writes, decoded again as the format says. */
#include "agent/data/parquet/write/level_runs.h"

#include "tests/seed.h"
#include "tests/test.h"

#include <stdlib.h>

static uint64_t take_varint(const unsigned char **at) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        value |= (uint64_t)(**at & 0x7f) << shift;
        if (!(*(*at)++ & 0x80)) {
            return value;
        }
    }
}

static uint32_t take_bits(const unsigned char *bytes, size_t bit, int bits) {
    uint32_t value = 0;
    for (int i = 0; i < bits; i++) {
        value |= (uint32_t)(bytes[(bit + (size_t)i) / 8] >> (bit + (size_t)i) % 8 & 1) << i;
    }
    return value;
}

static void decode(const struct buffer *bytes, int bits, uint32_t *values, size_t count) {
    const unsigned char *at = (const unsigned char *)bytes->data, *end = at + bytes->size;
    size_t done = 0;
    while (done < count && at < end) {
        uint64_t head = take_varint(&at), length = head & 1 ? (head >> 1) * 8 : head >> 1;
        for (uint64_t i = 0; i < length && done < count; i++) {
            values[done++] =
                head & 1 ? take_bits(at, (size_t)i * (size_t)bits, bits) : take_bits(at, 0, bits);
        }
        at += head & 1 ? (head >> 1) * (uint64_t)bits : ((uint64_t)bits + 7) / 8;
    }
    CHECK_INT(done, count);
    CHECK_INT(end - at, 0);
}

/* Runs of drawn lengths, of 0 to `most`. */
static void check_drawn(uint64_t *state, uint32_t most) {
    enum { COUNT = 3000 };
    static uint32_t values[COUNT], seen[COUNT];
    struct error err = {0};
    AUTO(buffer_release) struct buffer bytes;
    int bits = level_runs_bits(most);
    size_t count = (size_t)(test_random(state) % COUNT) + 1;
    buffer_init(&bytes, 1 << 20);
    for (size_t i = 0; i < count;) {
        uint32_t value = (uint32_t)(test_random(state) % ((uint64_t)most + 1));
        size_t run = (size_t)(test_random(state) % 4 ? 1 : test_random(state) % 40 + 1);
        for (; run > 0 && i < count; run--) {
            values[i++] = value;
        }
    }
    CHECK_OK(level_runs_add(&bytes, values, count, bits, &err), &err);
    decode(&bytes, bits, seen, count);
    CHECK(memcmp(values, seen, count * sizeof *values) == 0);
}

static void test_drawn_values(void) {
    uint64_t state = test_seed(1);
    static const uint32_t most[] = {1, 3, 7, 255, 256, 65535, 100000, UINT32_MAX};
    for (int i = 0; i < 400; i++) {
        check_drawn(&state, most[i % (int)ARRAY_LEN(most)]);
    }
}

static void test_a_long_run_is_short(void) {
    struct error err = {0};
    AUTO(buffer_release) struct buffer bytes;
    buffer_init(&bytes, 1 << 20);
    uint32_t *values = x_calloc(1 << 18, sizeof *values);
    CHECK_OK(level_runs_add(&bytes, values, 1 << 18, 1, &err), &err);
    CHECK_INT(bytes.size, 4);
    free(values);
    CHECK_INT(level_runs_bits(0), 0);
    CHECK_INT(level_runs_bits(1), 1);
    CHECK_INT(level_runs_bits(5), 3);
}

int main(void) {
    TEST(test_drawn_values);
    TEST(test_a_long_run_is_short);
    return TEST_END();
}
