// SPDX-License-Identifier: Apache-2.0
/* Masks: the numbers of a PNG as they are in the file, whatever a palette makes of them. The files
 * are written by hand (zlib and the PNG specification), each 5 x 2 pixels. */
#include "agent/data/image/image.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

enum { WIDE = 5, HIGH = 2, FILE_MAX = 128 };

static const struct {
    const char *name, *file;
    bool is_refused;
    uint8_t classes[HIGH * WIDE];
} rows[] = {
    {"grey of 1 bit",
     "89504e470d0a1a0a0000000d4948445200000005000000020100000000b8112bf00000000c4944415478da638860"
     "e80000019400e1175851720000000049454e44ae426082",
     false,
     {0, 1, 0, 1, 1, 1, 0, 0, 0, 1}},
    {"grey of 2 bits",
     "89504e470d0a1a0a0000000d4948445200000005000000020200000000ffb151200000000e4944415478da639076"
     "6038e10000035d016432a482430000000049454e44ae426082",
     false,
     {0, 1, 2, 3, 1, 3, 0, 2, 0, 1}},
    {"grey of 8 bits",
     "89504e470d0a1a0a0000000d4948445200000005000000020800000000b5014981000000144944415478da636060"
     "64ffcfc8c02cc4c4c0080008b201210d2f76400000000049454e44ae426082",
     false,
     {0, 1, 7, 255, 1, 3, 18, 2, 0, 1}},
    {"palette of 4 bits",
     "89504e470d0a1a0a0000000d494844520000000500000002040300000062440b6e0000000c504c54450909090909"
     "09c80102030303d3dc3129000000104944415478da63605416603050100000021100957c82bd510000000049454e"
     "44ae426082",
     false,
     {0, 1, 2, 3, 1, 3, 0, 2, 0, 1}},
    {"grey of 16 bits",
     "89504e470d0a1a0a0000000d4948445200000005000000021000000000e59195c2000000194944415478da636060"
     "6060646062600692408201c8040a000000a4000e225290040000000049454e44ae426082",
     true,
     {0}},
};

static size_t read_file(const char *text, uint8_t *bytes) {
    size_t size = strlen(text) / 2;
    for (size_t i = 0; i < size; i++) {
        const char digits[] = {text[2 * i], text[2 * i + 1], 0};
        bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return size;
}

static void test_numbers(void) {
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint8_t bytes[FILE_MAX];
        size_t size = read_file(rows[i].file, bytes);
        AUTO(picture_release) struct picture picture = {0};
        struct error err = {0};
        int result = image_decode_mask(bytes, size, &picture, &err);
        CHECK_INT(result, rows[i].is_refused ? -1 : 0);
        if (result < 0) {
            CHECK(strstr(err.text, "a mask is a PNG of grey or palette with up to 8 bits"));
            CHECK(strstr(err.text, "this one has 1 channels of 16 bits"));
            continue;
        }
        CHECK(picture.width == WIDE && picture.height == HIGH);
        for (int k = 0; k < 3 * WIDE * HIGH; k++) {
            CHECK_INT(picture.pixels[k], rows[i].classes[k / 3]);
        }
    }
}

/* Every beginning of a file, and every file with a byte changed: a mask or an error, no crash. */
static void test_damaged(void) {
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint8_t bytes[FILE_MAX];
        size_t size = read_file(rows[i].file, bytes);
        for (size_t k = 0; k < 2 * size; k++) {
            AUTO(picture_release) struct picture picture = {0};
            struct error err = {0};
            uint8_t was = bytes[k % size];
            bytes[k % size] ^= k < size ? 0 : 0x41;
            int result = image_decode_mask(bytes, k < size ? k : size, &picture, &err);
            bytes[k % size] = was;
            CHECK(result == 0 || err.kind == ERROR_INVALID);
            CHECK(k >= 33 || result < 0); /* the header is cut */
        }
    }
}

static void test_other_files(void) {
    struct picture none;
    struct error err = {0};
    CHECK_INT(image_decode_mask("\xff\xd8\xff\xe0 a JPEG", 12, &none, &err), -1);
    CHECK(strstr(err.text, "a mask is a PNG, as JPEG would change its numbers") != NULL);
}

int main(void) {
    TEST(test_numbers);
    TEST(test_damaged);
    TEST(test_other_files);
    return TEST_END();
}
