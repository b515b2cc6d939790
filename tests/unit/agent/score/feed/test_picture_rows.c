// SPDX-License-Identifier: Apache-2.0
/* scale and preprocess: a picture is prepared for the network. */
#include "agent/data/image/scale.h"
#include "agent/score/feed/picture_rows.h"

#include "tests/test.h"
#include "tests/unit/agent/spec_defaults.h"

#include <math.h>
#include <stdlib.h>

static const struct picture_form planes_form = {.type = TENSOR_FLOAT32, .channels = 3};

static struct picture noise(int width, int height, unsigned seed) {
    struct picture picture;
    picture_init(&picture, width, height);
    for (int i = 0; i < 3 * width * height; i++) {
        seed = seed * 1664525 + 1013904223;
        picture.pixels[i] = (uint8_t)(seed >> 24);
    }
    return picture;
}

static const uint8_t *pixel(const struct picture *picture, int x, int y) {
    return picture->pixels + 3 * ((size_t)y * (size_t)picture->width + (size_t)x);
}

static void test_scaling_keeps_flat_colours_and_means(void) {
    static const int sizes[][4] = {{7, 5, 3, 2},    {3, 2, 7, 5},   {1, 1, 40, 30},  {40, 30, 1, 1},
                                   {640, 3, 13, 9}, {2, 200, 9, 3}, {64, 64, 32, 32}};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct picture flat, scaled;
        picture_init(&flat, sizes[i][0], sizes[i][1]);
        for (int at = 0; at < flat.width * flat.height; at++) {
            memcpy(flat.pixels + 3 * at, (const uint8_t[]){200, 17, 255}, 3);
        }
        scale_picture(&flat, sizes[i][2], sizes[i][3], &scaled);
        CHECK_INT(scaled.width, sizes[i][2]);
        CHECK_INT(scaled.height, sizes[i][3]);
        for (int at = 0; at < scaled.width * scaled.height; at++) {
            CHECK(memcmp(scaled.pixels + 3 * at, (const uint8_t[]){200, 17, 255}, 3) == 0);
        }
        picture_release(&flat);
        picture_release(&scaled);
    }
    struct picture from = noise(256, 256, 1), to;
    scale_picture(&from, 8, 8, &to);
    double spread = 0;
    for (int at = 0; at < 3 * 64; at++) {
        spread = MAX(spread, fabs(to.pixels[at] - 127.5));
    }
    CHECK(spread < 20); /* an average of a thousand pixels, not one of them */
    picture_release(&from);
    picture_release(&to);
}

static void test_scaling_by_two_halves_is_exact(void) {
    struct picture from, to;
    picture_init(&from, 4, 1);
    for (int x = 0; x < 4; x++) {
        memset(from.pixels + 3 * x, x * 80, 3);
    }
    scale_picture(&from, 8, 1, &to); /* bilinear, centres of pixels in proportion */
    static const int wanted[] = {0, 20, 60, 100, 140, 180, 220, 240};
    for (int x = 0; x < 8; x++) {
        CHECK_INT(pixel(&to, x, 0)[0], wanted[x]);
    }
    picture_release(&from);
    picture_release(&to);
}

static struct preprocess read_preprocess(const char *json) {
    struct error err = {0};
    struct preprocess preprocess = {0};
    AUTO(tree_freep) json_t *fields = json_loads(json, 0, NULL);
    AUTO(tree_freep)
    json_t *spec = json_pack("{s:{s:{s:O}}}", "scorer", "onnx", "preprocess", fields);
    spec_fill(spec);
    CHECK_OK(preprocess_read(spec, &preprocess, &err), &err);
    return preprocess;
}

static void test_sizes_follow_the_fields(void) {
    static const struct {
        const char *fields;
        int from[2], resized[2], padded[2];
    } rows[] = {
        {"{}", {641, 361}, {641, 361}, {641, 361}},
        {"{\"multipleOf\": 4}", {641, 361}, {641, 361}, {644, 364}},
        {"{\"width\": 640, \"height\": 360, \"multipleOf\": 4}",
         {1920, 1080},
         {640, 360},
         {640, 360}},
        {"{\"width\": 640}", {1920, 1080}, {640, 360}, {640, 360}},
        {"{\"height\": 100}", {333, 111}, {300, 100}, {300, 100}},
        {"{\"width\": 1}", {1000, 1}, {1, 1}, {1, 1}},
        {"{\"width\": 227, \"multipleOf\": 32}", {227, 227}, {227, 227}, {256, 256}},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct preprocess preprocess = read_preprocess(rows[i].fields);
        struct preprocess_size size = {0};
        CHECK_OK(preprocess_measure(&preprocess, rows[i].from[0], rows[i].from[1], &size, &err),
                 &err);
        CHECK_INT(size.width, rows[i].resized[0]);
        CHECK_INT(size.height, rows[i].resized[1]);
        CHECK_INT(size.padded_width, rows[i].padded[0]);
        CHECK_INT(size.padded_height, rows[i].padded[1]);
    }
    struct error err = {0};
    struct preprocess_size size;
    struct preprocess tall = read_preprocess("{\"width\": 16384}");
    CHECK_INT(preprocess_measure(&tall, 1, 2, &size, &err), -1);
}

static void test_bad_fields_are_named(void) {
    static const struct {
        const char *fields, *name;
    } rows[] = {{"{\"width\": -1}", "preprocess.width"},
                {"{\"height\": 99999}", "preprocess.height"},
                {"{\"multipleOf\": 0}", "preprocess.multipleOf"},
                {"{\"color\": \"CMYK\"}", "preprocess.color"},
                {"{\"range\": \"byte\"}", "preprocess.range"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct preprocess preprocess;
        AUTO(tree_freep) json_t *fields = json_loads(rows[i].fields, 0, NULL);
        AUTO(tree_freep)
        json_t *spec = json_pack("{s:{s:{s:O}}}", "scorer", "onnx", "preprocess", fields);
        spec_fill(spec);
        CHECK_INT(preprocess_read(spec, &preprocess, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
        CHECK(strstr(err.text, rows[i].name));
    }
}

static void test_ranges_are_what_networks_expect(void) {
    static const struct {
        const char *fields;
        float values[3]; /* of a pixel (255, 0, 51) in the network's order of planes */
    } rows[] = {{"{}", {255, 0, 51}},
                {"{\"color\": \"BGR\"}", {51, 0, 255}},
                {"{\"range\": \"Unit\"}", {1, 0, 0.2f}},
                {"{\"range\": \"Signed\"}", {1, -1, -0.6f}},
                {"{\"range\": \"ImageNet\"}", {2.2489f, -2.0357f, -0.9156f}}};
    struct picture picture;
    picture_init(&picture, 1, 1);
    memcpy(picture.pixels, (const uint8_t[]){255, 0, 51}, 3);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct preprocess preprocess = read_preprocess(rows[i].fields);
        struct preprocess_size size = {1, 1, .padded_width = 1, .padded_height = 1};
        float tensor[3];
        picture_rows_fill(&preprocess, &picture, &size, &planes_form, tensor);
        for (int plane = 0; plane < 3; plane++) {
            CHECK(fabsf(tensor[plane] - rows[i].values[plane]) < 1e-4f);
        }
    }
    picture_release(&picture);
}

int main(void) {
    TEST(test_scaling_keeps_flat_colours_and_means);
    TEST(test_scaling_by_two_halves_is_exact);
    TEST(test_sizes_follow_the_fields);
    TEST(test_bad_fields_are_named);
    TEST(test_ranges_are_what_networks_expect);
    return TEST_END();
}
