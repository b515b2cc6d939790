// SPDX-License-Identifier: Apache-2.0
/* Image: a network's output becomes a picture, without the padding of its input. */
#include "agent/score/feed/picture_rows.h"
#include "tests/unit/agent/score/post/post_tests.h"

#include <math.h>

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

/* 13x9 in the upper left of 16x16. */
static const struct post_item item = {.name = "a.png",
                                      .place = {.picture_width = 13,
                                                .picture_height = 9,
                                                .width = 13,
                                                .height = 9,
                                                .input_width = 16,
                                                .input_height = 16}};

static int picture_of(const struct opened *opened, const struct tensor *tensor, int64_t index,
                      struct post_result *ret_result) {
    struct post_outputs outputs = {.tensors = &tensor, .count = 1, .items = tensor->shape.dims[0]};
    CHECK(opened->kind->fits(opened->state, tensor, tensor->shape.dims[0]));
    return result_of(opened, &outputs, index, &item, ret_result);
}

/* Padded, through a network that changes nothing, and cut again: the same picture. */
static void test_there_and_back_changes_nothing(void) {
    static const struct {
        const char *spec;
        struct preprocess preprocess;
    } rows[] = {{"{}", {.range = RANGE_BYTE}},
                {"{\"postprocess\": {\"range\": \"Unit\"}}", {.range = RANGE_UNIT}},
                {"{\"postprocess\": {\"range\": \"Signed\"}}", {.range = RANGE_SIGNED}},
                {"{\"preprocess\": {\"color\": \"BGR\"}}", {.range = RANGE_BYTE, .is_bgr = true}}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct preprocess preprocess = rows[i].preprocess;
        struct opened opened = open_post(rows[i].spec);
        struct picture picture = noise(13, 9, (unsigned)i);
        struct preprocess_size size = {0};
        struct post_result result;
        preprocess.multiple_of = 16;
        CHECK_OK(preprocess_measure(&preprocess, 13, 9, &size, &err), &err);
        struct shape shape = {4, {2, 3, 16, 16}};
        struct tensor tensor = {0};
        CHECK_OK(tensor_init(&tensor, TENSOR_FLOAT32, &shape, &err), &err);
        float *second = (float *)tensor.data + 3 * 16 * 16;
        picture_rows_fill(&preprocess, &picture, &size, &planes_form, second);
        CHECK_INT(picture_of(&opened, &tensor, 1, &result), 0);
        CHECK_INT(result.picture.width, 13);
        CHECK_INT(result.picture.height, 9);
        CHECK(memcmp(result.picture.pixels, picture.pixels, 3 * 13 * 9) == 0);
        post_result_release(&result);
        picture_release(&picture);
        tensor_release(&tensor);
        close_post(&opened);
    }
}

static void test_outputs_of_another_size_are_cut_in_proportion(void) {
    struct error err = {0};
    struct opened opened = open_post("{}");
    struct shape shape = {4, {1, 3, 32, 32}}; /* twice as large */
    struct tensor tensor = {0};
    struct post_result result;
    CHECK_OK(tensor_init(&tensor, TENSOR_FLOAT32, &shape, &err), &err);
    float *values = tensor.data;
    values[0] = -5;
    values[1] = 300;
    values[2] = 99.6f;
    CHECK_INT(picture_of(&opened, &tensor, 0, &result), 0);
    CHECK_INT(result.picture.width, 26);
    CHECK_INT(result.picture.height, 18);
    CHECK_INT(result.picture.pixels[0], 0);
    CHECK_INT(result.picture.pixels[3], 255);
    CHECK_INT(result.picture.pixels[6], 100);
    post_result_release(&result);
    values[7] = NAN;
    CHECK_INT(picture_of(&opened, &tensor, 0, &result), -1);
    tensor_release(&tensor);
    close_post(&opened);
}

static void test_outputs_that_do_not_fit_are_refused(void) {
    struct opened image = open_post("{}");
    struct opened classes = open_post("{\"postprocess\": {\"type\": \"Classes\"}}");
    const struct tensor rows[] = {
        {TENSOR_FLOAT32, {4, {2, 1, 4, 4}}, NULL, false}, /* grey */
        {TENSOR_UINT8, {4, {1, 3, 4, 4}}, NULL, false},
        {TENSOR_FLOAT32, {3, {3, 4, 4}}, NULL, false},
        {TENSOR_FLOAT32, {4, {5, 3, 4, 4}}, NULL, false},
        {TENSOR_FLOAT32, {0, {0}}, NULL, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CHECK(!image.kind->fits(image.state, &rows[i], 1));
        CHECK(!classes.kind->fits(classes.state, &rows[i], 1));
    }
    close_post(&image);
    close_post(&classes);
}

static void test_bad_fields_are_named(void) {
    static const char *const rows[][2] = {
        {"{\"scorer\": {\"onnx\": {\"postprocess\": {\"type\": \"Image\", \"range\": "
         "\"ImageNet\"}}}}",
         "postprocess.range is 'ImageNet', expected Byte, Unit or Signed"},
        {"{\"scorer\": {\"onnx\": {\"postprocess\": {\"type\": \"Imag\"}}}}",
         "postprocess.type is 'Imag', expected Image, Classes"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct post *post = NULL;
        AUTO(tree_freep) json_t *spec = json_loads(rows[i][0], 0, NULL);
        CHECK_INT(post_open(spec, &post, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
        CHECK(strstr(err.text, rows[i][1]));
    }
}

int main(void) {
    TEST(test_there_and_back_changes_nothing);
    TEST(test_outputs_of_another_size_are_cut_in_proportion);
    TEST(test_outputs_that_do_not_fit_are_refused);
    TEST(test_bad_fields_are_named);
    return TEST_END();
}
