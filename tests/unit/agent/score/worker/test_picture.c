// SPDX-License-Identifier: Apache-2.0
/* scale, preprocess and postprocess: a picture is prepared for the network and its result turned
 * back. */
#include "agent/data/image/scale.h"
#include "agent/score/feed/preprocess.h"
#include "agent/score/worker/postprocess.h"

#include "tests/test.h"
#include "tests/unit/agent/spec_defaults.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

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
        struct preprocess_size size = {1, 1, 1, 1};
        float tensor[3];
        preprocess_fill(&preprocess, &picture, &size, tensor);
        for (int plane = 0; plane < 3; plane++) {
            CHECK(fabsf(tensor[plane] - rows[i].values[plane]) < 1e-4f);
        }
    }
    picture_release(&picture);
}

static struct postprocess read_postprocess(const char *json) {
    struct error err = {0};
    struct postprocess postprocess = {0};
    AUTO(tree_freep) json_t *onnx = json_loads(json, 0, NULL);
    AUTO(tree_freep) json_t *spec = json_pack("{s:{s:O}}", "scorer", "onnx", onnx);
    spec_fill(spec);
    CHECK_OK(postprocess_read(spec, &postprocess, &err), &err);
    return postprocess;
}

/* Padded, through a network that changes nothing, and cut again: the same picture. */
static void test_there_and_back_changes_nothing(void) {
    static const char *const rows[][2] = {
        {"{\"multipleOf\": 8}", "{}"},
        {"{\"multipleOf\": 8, \"range\": \"Unit\"}", "{\"postprocess\": {\"range\": \"Unit\"}}"},
        {"{\"multipleOf\": 7, \"range\": \"Signed\"}",
         "{\"postprocess\": {\"range\": \"Signed\"}}"},
        {"{\"multipleOf\": 8, \"color\": \"BGR\"}", "{\"preprocess\": {\"color\": \"BGR\"}}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct preprocess preprocess = read_preprocess(rows[i][0]);
        struct postprocess postprocess = read_postprocess(rows[i][1]);
        struct picture picture = noise(13, 9, (unsigned)i), back = {0};
        struct preprocess_size size = {0};
        CHECK_OK(preprocess_measure(&preprocess, 13, 9, &size, &err), &err);
        struct shape shape = {4, {2, 3, size.padded_height, size.padded_width}};
        struct tensor tensor = {0};
        CHECK_OK(tensor_init(&tensor, TENSOR_FLOAT32, &shape, &err), &err);
        size_t item = 3 * (size_t)size.padded_height * (size_t)size.padded_width;
        preprocess_fill(&preprocess, &picture, &size, (float *)tensor.data + item);
        CHECK_OK(postprocess_check(&postprocess, &tensor, 2, &err), &err);
        CHECK_OK(postprocess_picture(&postprocess, &tensor, 1, &size, &back, &err), &err);
        CHECK_INT(back.width, 13);
        CHECK_INT(back.height, 9);
        CHECK(memcmp(back.pixels, picture.pixels, 3 * 13 * 9) == 0);
        if (i == 0) { /* the padding repeats the edge */
            const float *red = (const float *)tensor.data + item;
            CHECK_INT(red[15], pixel(&picture, 12, 0)[0]);
            CHECK_INT(red[15 * 16 + 3], pixel(&picture, 3, 8)[0]);
        }
        picture_release(&picture);
        picture_release(&back);
        tensor_release(&tensor);
        postprocess_release(&postprocess);
    }
}

static void test_outputs_of_another_size_are_cut_in_proportion(void) {
    struct error err = {0};
    struct postprocess postprocess = read_postprocess("{}");
    struct preprocess_size size = {13, 9, 16, 16};
    struct shape shape = {4, {1, 3, 32, 32}}; /* twice as large */
    struct tensor tensor = {0};
    struct picture picture = {0};
    CHECK_OK(tensor_init(&tensor, TENSOR_FLOAT32, &shape, &err), &err);
    float *values = tensor.data;
    values[0] = -5;
    values[1] = 300;
    values[2] = 99.6f;
    CHECK_OK(postprocess_picture(&postprocess, &tensor, 0, &size, &picture, &err), &err);
    CHECK_INT(picture.width, 26);
    CHECK_INT(picture.height, 18);
    CHECK_INT(pixel(&picture, 0, 0)[0], 0);
    CHECK_INT(pixel(&picture, 1, 0)[0], 255);
    CHECK_INT(pixel(&picture, 2, 0)[0], 100);
    picture_release(&picture);
    values[7] = NAN;
    CHECK_INT(postprocess_picture(&postprocess, &tensor, 0, &size, &picture, &err), -1);
    CHECK_INT(err.kind, ERROR_FAILED);
    tensor_release(&tensor);
}

static void test_classes_are_the_best_with_their_labels(void) {
    struct error err = {0};
    char path[] = "/tmp/windlass-labels-XXXXXX";
    int fd = mkstemp(path);
    CHECK_INT(write(fd, "cat\r\ndog\nbird", 13), 13);
    close(fd);
    setenv("labels", "/tmp", 1);
    AUTO(text_freep)
    char *json = x_printf(
        "{\"postprocess\": {\"type\": \"Classes\", \"top\": 3, \"labels\": \"labels/%s\"}}",
        path + strlen("/tmp/"));
    struct postprocess postprocess = read_postprocess(json);
    float values[] = {9, 9, 9, 9, 0.25f, -1, 0.5f, 0.25f};
    struct tensor tensor = {TENSOR_FLOAT32, {4, {2, 4, 1, 1}}, values, false};
    CHECK_OK(postprocess_check(&postprocess, &tensor, 2, &err), &err);
    AUTO(tree_freep) json_t *record = postprocess_record(&postprocess, &tensor, 1, "a.jpg");
    AUTO(text_freep) char *text = json_dumps(record, JSON_COMPACT | JSON_SORT_KEYS);
    CHECK_STR(text, "{\"classes\":[{\"index\":2,\"label\":\"bird\",\"score\":0.5},"
                    "{\"index\":0,\"label\":\"cat\",\"score\":0.25},{\"index\":3,\"score\":0.25}],"
                    "\"file\":\"a.jpg\"}");
    postprocess_release(&postprocess);
    unlink(path);
}

static void check_record(const char *spec, const struct tensor *output, const char *wanted) {
    struct error err = {0};
    struct postprocess postprocess = read_postprocess(spec);
    CHECK_OK(postprocess_check(&postprocess, output, output->shape.dims[0], &err), &err);
    AUTO(tree_freep) json_t *record = postprocess_record(&postprocess, output, 1, "a");
    AUTO(text_freep) char *text = json_dumps(record, JSON_COMPACT | JSON_SORT_KEYS);
    CHECK_STR(text, wanted);
    postprocess_release(&postprocess);
}

static void test_values_are_no_classes(void) {
    const char *classes = "{\"postprocess\": {\"type\": \"Classes\"}}";
    const char *all = "{\"postprocess\": {\"type\": \"Values\"}}";
    float values[] = {1, 2, NAN, 0.5f};
    const struct tensor list = {TENSOR_FLOAT32, {1, {4}}, values, false};
    const struct tensor column = {TENSOR_FLOAT32, {2, {4, 1}}, values, false};
    const struct tensor pairs = {TENSOR_FLOAT32, {2, {2, 2}}, values, false};
    check_record(all, &list, "{\"file\":\"a\",\"values\":[2.0]}");
    check_record(all, &pairs, "{\"file\":\"a\",\"values\":[null,0.5]}");
    check_record(classes, &column, "{\"file\":\"a\",\"values\":[2.0]}");
    check_record(classes, &pairs,
                 "{\"classes\":[{\"index\":1,\"score\":0.5},{\"index\":0,\"score\":null}],"
                 "\"file\":\"a\"}");
}

static void test_outputs_that_do_not_fit_are_refused(void) {
    struct postprocess image = read_postprocess("{}");
    struct postprocess classes = read_postprocess("{\"postprocess\": {\"type\": \"Classes\"}}");
    const struct tensor rows[] = {
        {TENSOR_FLOAT32, {4, {2, 1, 4, 4}}, NULL, false}, /* grey */
        {TENSOR_UINT8, {4, {1, 3, 4, 4}}, NULL, false},
        {TENSOR_FLOAT32, {3, {3, 4, 4}}, NULL, false},
        {TENSOR_FLOAT32, {4, {5, 3, 4, 4}}, NULL, false},
        {TENSOR_FLOAT32, {0, {0}}, NULL, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        CHECK_INT(postprocess_check(&image, &rows[i], 1, &err), -1);
        CHECK(strstr(err.text, "postprocess type Image needs float32 [n, 3, h, w]"));
        err = (struct error){0};
        CHECK_INT(postprocess_check(&classes, &rows[i], 1, &err), -1);
    }
}

int main(void) {
    TEST(test_scaling_keeps_flat_colours_and_means);
    TEST(test_scaling_by_two_halves_is_exact);
    TEST(test_sizes_follow_the_fields);
    TEST(test_bad_fields_are_named);
    TEST(test_ranges_are_what_networks_expect);
    TEST(test_there_and_back_changes_nothing);
    TEST(test_outputs_of_another_size_are_cut_in_proportion);
    TEST(test_classes_are_the_best_with_their_labels);
    TEST(test_values_are_no_classes);
    TEST(test_outputs_that_do_not_fit_are_refused);
    return TEST_END();
}
