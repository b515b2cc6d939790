// SPDX-License-Identifier: Apache-2.0
#include "agent/data/video/captions.h"

#include "lib/base.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

#define MPEG2 "\0\0\1\xB2"
#define SEI "\xB5\0\x31"
#define HEAD "GA94\x03"

static void test_which_bytes_are_captions(void) {
#define BYTES(text) text, sizeof(text) - 1
    static const struct {
        const char *bytes;
        size_t size;
        bool found;
    } rows[] = {
        {BYTES(""), false},
        {BYTES(MPEG2 HEAD "\x41\xFF\xFC\xC8\xE9"), true},
        {BYTES("\0\0\0\1\x06\x04\x0E" SEI HEAD "\x41\xFF\xFC\xC8\xE9\xFF\x80"), true},
        {BYTES("pictures before" MPEG2 HEAD "\x41\xFF\xFC\xC8\xE9"), true},
        /* Not user data; another type of it. */
        {BYTES("xxxx" HEAD "\x41\xFF\xFC\xC8\xE9"), false},
        {BYTES(HEAD "\x41\xFF\xFC\xC8\xE9"), false},
        {BYTES(MPEG2 "GA94\x06\x41\xFF\xFC\xC8\xE9"), false},
        /* Fillers: no triplets, two zeros with and without parity, data that is not valid. */
        {BYTES(MPEG2 HEAD "\x40\xFF\xFC\xC8\xE9"), false},
        {BYTES(MPEG2 HEAD "\x01\xFF\xFC\xC8\xE9"), false},
        {BYTES(MPEG2 HEAD "\x41\xFF\xFC\x80\x80"), false},
        {BYTES(MPEG2 HEAD "\x41\xFF\xFD\0\0"), false},
        {BYTES(MPEG2 HEAD "\x41\xFF\xF8\xC8\xE9"), false},
        /* A filler, then words; in one picture, and in two. */
        {BYTES(MPEG2 HEAD "\x42\xFF\xFC\x80\x80\xFF\xC8\xE9"), true},
        {BYTES(MPEG2 HEAD "\x41\xFF\xFC\x80\x80" MPEG2 HEAD "\x41\xFF\xFC\xC8\xE9"), true},
        /* Cut off at every place that matters. */
        {BYTES(MPEG2 HEAD), false},
        {BYTES(MPEG2 HEAD "\x41"), false},
        {BYTES(MPEG2 HEAD "\x41\xFF"), false},
        {BYTES(MPEG2 HEAD "\x41\xFF\xFC\xC8"), false},
        {BYTES(MPEG2 "GA9"), false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        /* Of their own size, so that a sanitizer sees what is read behind them. */
        uint8_t *bytes = x_malloc(MAX(rows[i].size, 1u));
        memcpy(bytes, rows[i].bytes, rows[i].size);
        if (captions_found(bytes, rows[i].size) != rows[i].found) {
            printf("# row %zu\n", i);
            test_failures++;
        }
        free(bytes);
    }
    CHECK(!captions_found(NULL, 0));
}

int main(void) {
    TEST(test_which_bytes_are_captions);
    return TEST_END();
}
