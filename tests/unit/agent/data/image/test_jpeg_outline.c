// SPDX-License-Identifier: Apache-2.0
#include "agent/data/image/jpeg_outline.h"
#include "tests/test.h"

#include <stdlib.h>
#include <turbojpeg.h>

static const struct {
    int sampling, flags, components;
    bool is_subsampled;
} rows[] = {
    {TJSAMP_444, 0, 3, false},
    {TJSAMP_422, 0, 3, true},
    {TJSAMP_420, 0, 3, true},
    {TJSAMP_440, 0, 3, true},
    {TJSAMP_411, 0, 3, true},
    {TJSAMP_GRAY, 0, 1, false},
    {TJSAMP_420, TJFLAG_PROGRESSIVE, 3, true},
    {TJSAMP_GRAY, TJFLAG_PROGRESSIVE, 1, false},
};

/* 61x43 pixels; the caller calls tjFree. */
static unsigned char *make(int sampling, int format, int flags, unsigned long *ret_size) {
    static unsigned char pixels[61 * 43 * 4];
    unsigned char *bytes = NULL;
    for (size_t i = 0; i < sizeof pixels; i++) {
        pixels[i] = (unsigned char)(i * i / 7);
    }
    tjhandle handle = tjInitCompress();
    CHECK_INT(tjCompress2(handle, pixels, 61, 0, 43, format, &bytes, ret_size, sampling, 90, flags),
              0);
    tjDestroy(handle);
    return bytes;
}

static void test_sound_pictures(void) {
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct jpeg_outline seen = {0};
        unsigned long size = 0;
        unsigned char *bytes = make(rows[i].sampling, TJPF_RGB, rows[i].flags, &size);
        CHECK(jpeg_outline_read(bytes, size, &seen));
        CHECK_INT(seen.width, 61);
        CHECK_INT(seen.height, 43);
        CHECK_INT(seen.components, rows[i].components);
        CHECK(seen.is_subsampled == rows[i].is_subsampled);
        tjFree(bytes);
    }
}

/* A file cut anywhere is not complete; copies have the exact size, so that ASan sees reads past the
 * end. */
static void test_what_is_cut_off(void) {
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct jpeg_outline seen;
        unsigned long size = 0;
        unsigned char *bytes = make(rows[i].sampling, TJPF_RGB, rows[i].flags, &size);
        for (size_t cut = 0; cut < size; cut++) {
            unsigned char *part = x_malloc(cut + 1); /* never zero bytes */
            memcpy(part + 1, bytes, cut);
            CHECK(!jpeg_outline_read(part + 1, cut, &seen));
            free(part);
        }
        tjFree(bytes);
    }
}

static unsigned char *find(unsigned char *bytes, unsigned long size, int marker) {
    for (unsigned long i = 0; i + 1 < size; i++) {
        if (bytes[i] == 0xFF && bytes[i + 1] == marker) {
            return bytes + i;
        }
    }
    abort();
}

static void test_what_is_the_processors(void) {
    static const struct {
        int marker, at, value; /* changes this byte after this marker */
    } changes[] = {
        {0xC0, 4, 12},                  /* 12 bits */
        {0xC0, 5, -1},                  /* no height, or no width */
        {0xC0, 7, -1},    {0xC0, 9, 2}, /* two components */
        {0xC0, 1, 0xC3},                /* lossless */
        {0xC0, 1, 0xC9},                /* arithmetic */
        {0xC0, 11, 0x11},               /* luma has fewer samples than ... */
        {0xC0, 14, 0x22},               /* ... and one kind of chroma more than the other */
        {0xDA, 1, 0xDC},                /* the height comes late */
        {0xDA, 4, 2},                   /* no scan has a component */
    };
    struct jpeg_outline seen;
    unsigned long size = 0;
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        unsigned char *bytes = make(TJSAMP_422, TJPF_RGB, 0, &size);
        unsigned char *at = find(bytes, size, changes[i].marker) + changes[i].at;
        CHECK(jpeg_outline_read(bytes, size, &seen));
        *at = (unsigned char)MAX(changes[i].value, 0);
        if (changes[i].value < 0) {
            at[1] = 0;
        }
        if (i == 6) {
            at[3] = 0x21;
            at[6] = 0x21;
        }
        if (jpeg_outline_read(bytes, size, &seen)) {
            printf("# change %zu is not seen\n", i);
            test_failures++;
        }
        tjFree(bytes);
    }
    unsigned char *inks = make(TJSAMP_444, TJPF_CMYK, 0, &size);
    CHECK(!jpeg_outline_read(inks, size, &seen));
    tjFree(inks);
}

/* Plain RGB: the Adobe segment or the names of the components say so. */
static void test_colors_that_were_not_turned(void) {
    static const unsigned char adobe[] = {0xFF, 0xEE, 0, 14, 'A', 'd', 'o', 'b',
                                          'e',  0,    1, 0,  0,   0,   0,   0};
    struct jpeg_outline seen;
    unsigned long size = 0;
    unsigned char file[1 << 15];
    for (int transform = 0; transform < 2; transform++) {
        unsigned char *bytes = make(TJSAMP_444, TJPF_RGB, 0, &size);
        memcpy(file, bytes, 2);
        memcpy(file + 2, adobe, sizeof adobe);
        file[2 + 15] = (unsigned char)transform;
        CHECK(size + sizeof adobe <= sizeof file);
        memcpy(file + 2 + sizeof adobe, bytes + 2, size - 2);
        CHECK(jpeg_outline_read(file, size + sizeof adobe, &seen) == (transform == 1));
        unsigned char *frame = find(bytes, size, 0xC0);
        frame[10] = 'R';
        frame[13] = 'G';
        frame[16] = 'B';
        CHECK(!jpeg_outline_read(bytes, size, &seen));
        tjFree(bytes);
    }
}

/* A file with absurdly many scans goes to the processor, whose decoder refuses it. */
static void test_scans_without_end(void) {
    struct jpeg_outline seen;
    unsigned long size = 0;
    unsigned char *bytes = make(TJSAMP_GRAY, TJPF_RGB, TJFLAG_PROGRESSIVE, &size);
    unsigned char *scan = find(bytes, size, 0xDA);
    size_t head = (size_t)(scan - bytes), one = 12;
    for (int scans = 99; scans <= 101; scans++) {
        unsigned char *file = x_malloc(head + (size_t)scans * one + 2);
        memcpy(file, bytes, head);
        for (int i = 0; i < scans; i++) {
            memcpy(file + head + (size_t)i * one, scan, one);
            memset(file + head + (size_t)i * one + 10, 0, 2); /* its data */
        }
        memcpy(file + head + (size_t)scans * one, "\xFF\xD9", 2);
        CHECK(jpeg_outline_read(file, head + (size_t)scans * one + 2, &seen) == (scans <= 100));
        free(file);
    }
    tjFree(bytes);
}

int main(void) {
    TEST(test_sound_pictures);
    TEST(test_what_is_cut_off);
    TEST(test_what_is_the_processors);
    TEST(test_colors_that_were_not_turned);
    TEST(test_scans_without_end);
    return TEST_END();
}
