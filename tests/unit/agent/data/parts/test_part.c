// SPDX-License-Identifier: Apache-2.0
/* A try's object is compared with its commit: size and CRC-32C, however it is read. */
#include "agent/data/parts/part.h"

#include "lib/digest.h"
#include "tests/unit/agent/data/tries.h"

enum { SIZE = 5000, LEASE = 3 };

static char bytes[SIZE + 1], room[2 * SIZE];

static struct part committed(struct store *output) {
    struct part part = {.store = output, .size_bytes = SIZE, .crc = digest_crc32c(0, bytes, SIZE)};
    part_name(RUN, 1, LEASE, part.name);
    return part;
}

static void store_object(struct store *output, size_t size) {
    struct error err = {0};
    struct part part = committed(output);
    CHECK_OK(store_put(output, part.name, bytes, size, STORE_REPLACE, &err), &err);
}

/* Both ways to look at the object: into room, or piece by piece if room is too small. */
static void check_broken(struct store *output, const char *says) {
    for (int way = 0; way < 3; way++) {
        struct error err = {0};
        bool is_broken = false;
        struct part part = committed(output);
        int result =
            way == 0 ? part_check(&part, &is_broken, &err)
                     : part_load(&part, room, way == 1 ? sizeof room : SIZE / 2, &is_broken, &err);
        CHECK_INT(result, says ? -1 : 0);
        CHECK_INT(is_broken, says != NULL);
        CHECK(!says || strstr(err.text, says));
        CHECK(way != 1 || says || (part.bytes == room && memcmp(room, bytes, SIZE) == 0));
        CHECK(!says || !part.bytes);
    }
}

static void test_only_the_committed_bytes_are_taken(void) {
    AUTO(store_freep) struct store *output = open_output("out/part");
    check_broken(output, "try/1-3");
    store_object(output, SIZE);
    check_broken(output, NULL);
    static const size_t flipped[] = {0, SIZE / 2, SIZE - 1};
    for (size_t i = 0; i < ARRAY_LEN(flipped); i++) {
        bytes[flipped[i]] ^= 1;
        store_object(output, SIZE);
        bytes[flipped[i]] ^= 1;
        check_broken(output, "differs from what was committed");
    }
    store_object(output, SIZE + 1);
    check_broken(output, "differs from what was committed");
    store_object(output, SIZE - 1);
    check_broken(output, "try/1-3");
}

int main(void) {
    fixtures_start("part");
    for (size_t i = 0; i < SIZE; i++) {
        bytes[i] = (char)(i * 31 + i / 255);
    }
    TEST(test_only_the_committed_bytes_are_taken);
    return TEST_END();
}
