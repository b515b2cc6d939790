// SPDX-License-Identifier: Apache-2.0
/* Called with a word: prints what this process makes of it. */
#include "lib/number/keyed_hash.h"

#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>

/* What CPython 3.11, whose hash() is SipHash-1-3, says with PYTHONHASHSEED=0 (a key of zeros). */
static void known_values(void) {
    static const struct {
        const char *text;
        uint64_t hash;
    } rows[] = {{"a", 0x407448d2b89b1813},
                {"abc", 0xc03bc3a0042630f2},
                {"abcdefg", 0x6db12aae9070f506},
                {"abcdefgh", 0x3f7b849c0b8e35ea},
                {"abcdefghi", 0xf89b34a3d11eb6e5},
                {"The quick brown fox jumps over the lazy dog", 0x8df676d3d00c451e}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint64_t hash = keyed_hash_with((uint64_t[2]){0}, rows[i].text, strlen(rows[i].text));
        CHECK(hash == rows[i].hash);
    }
    unsigned char bytes[265];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = i < 256 ? (unsigned char)i : 'x';
    }
    CHECK(keyed_hash_with((uint64_t[2]){0}, bytes, sizeof bytes) == 0xd7ff4977588f4060);
}

static void numbers_count_as_eight_bytes(void) {
    uint64_t numbers[] = {7, 0, UINT64_MAX};
    struct keyed_hash_state hash = keyed_hash_begin();
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        keyed_hash_add(&hash, numbers[i]);
    }
    CHECK(keyed_hash_end(&hash) == keyed_hash(numbers, sizeof numbers));
    hash = keyed_hash_begin();
    CHECK(keyed_hash_end(&hash) == keyed_hash("", 0));
    CHECK(keyed_hash_number(1) != keyed_hash_number(2) && keyed_hash_number(0) == 0);
}

static void print_hashes(const char *word) {
    printf("%llx %llx\n", (unsigned long long)keyed_hash(word, strlen(word)),
           (unsigned long long)keyed_hash_number(strlen(word)));
}

static void read_hashes(const char *program, char line[static 64]) {
    char command[512];
    snprintf(command, sizeof command, "'%s' word", program);
    FILE *pipe = popen(command, "r");
    CHECK(pipe && fgets(line, 64, pipe) && strchr(line, '\n'));
    CHECK(!pipe || pclose(pipe) == 0);
}

static const char *own_program;

static void each_process_has_its_key(void) {
    char one[64] = "", other[64] = "";
    read_hashes(own_program, one);
    read_hashes(own_program, other);
    CHECK(strtoull(one, NULL, 16) != strtoull(other, NULL, 16));
    CHECK(strtoull(strchr(one, ' '), NULL, 16) != strtoull(strchr(other, ' '), NULL, 16));
}

int main(int argc, char **argv) {
    own_program = argv[0];
    if (argc == 2) {
        print_hashes(argv[1]);
        return 0;
    }
    TEST(known_values);
    TEST(numbers_count_as_eight_bytes);
    TEST(each_process_has_its_key);
    return TEST_END();
}
