// SPDX-License-Identifier: Apache-2.0
/* Mask: classes of pixels, at the item's own size. */
#include "tests/unit/agent/score/post/post_tests.h"

#include <math.h>

#define MASK(fields) "{\"postprocess\": {\"type\": \"Mask\"" fields "}}"

/* A picture of 4x2, of which the network's input of 2x2 has the middle. */
static const struct post_item cropped = {.name = "a",
                                         .place = {.picture_width = 4,
                                                   .picture_height = 2,
                                                   .left = -1,
                                                   .top = 0,
                                                   .width = 4,
                                                   .height = 2,
                                                   .input_width = 2,
                                                   .input_height = 2}};
/* One of 4x4, stretched. */
static const struct post_item stretched = {.name = "a",
                                           .place = {.picture_width = 4,
                                                     .picture_height = 4,
                                                     .width = 2,
                                                     .height = 2,
                                                     .input_width = 2,
                                                     .input_height = 2}};

static void check(const char *spec, const struct tensor *output, const struct post_item *item,
                  const char *wanted) {
    const char *name = "y";
    struct opened opened = open_post(spec);
    struct post_result result;
    char seen[64] = "";
    const struct post_outputs outputs = {
        .tensors = &output, .names = &name, .count = 1, .items = output->shape.dims[0]};
    CHECK(opened.kind->fits(opened.state, output, output->shape.dims[0]));
    CHECK_INT(result_of(&opened, &outputs, 1, item, &result), 0);
    CHECK(result.picture.is_grey);
    for (int i = 0; i < result.picture.width * result.picture.height; i++) {
        const uint8_t *pixel = result.picture.pixels + 3 * (size_t)i;
        CHECK(pixel[0] == pixel[1] && pixel[0] == pixel[2]);
        snprintf(seen + strlen(seen), 8, "%d ", pixel[0]);
    }
    CHECK_STR(seen, wanted);
    post_result_release(&result);
    close_post(&opened);
}

/* Scores of three classes over 4x4 values, which are alike in each quarter. */
static void test_the_best_class_of_each_pixel(void) {
    static const float quarters[4][3] = {{9, 0, 0}, {0, 8, 0}, {0, 0, 1}, {5, 5, 5}};
    float planes[2][3][4][4] = {{{{0}}}}, behind[2][4][4][3] = {{{{0}}}};
    for (int y = 0; y < 4; y++) {
        for (int x = 0; x < 4; x++) {
            for (int c = 0; c < 3; c++) {
                planes[1][c][y][x] = behind[1][y][x][c] = quarters[y / 2 * 2 + x / 2][c];
            }
        }
    }
    const struct tensor first = {TENSOR_FLOAT32, {4, {2, 3, 4, 4}}, planes, false};
    const struct tensor last = {TENSOR_FLOAT32, {4, {2, 4, 4, 3}}, behind, false};
    check(MASK(""), &first, &stretched, "0 0 1 1 0 0 1 1 2 2 0 0 2 2 0 0 ");
    check(MASK(""), &first, &cropped, "0 0 1 0 0 2 0 0 ");
    check(MASK(""), &last, &cropped, "0 0 1 0 0 2 0 0 ");
}

static void test_one_channel_has_a_threshold(void) {
    float values[2][2][2] = {{{0}}, {{0.4f, 0.5f}, {0.9f, -1}}};
    const struct tensor plain = {TENSOR_FLOAT32, {3, {2, 2, 2}}, values, false};
    const struct tensor channel = {TENSOR_FLOAT32, {4, {2, 1, 2, 2}}, values, false};
    const struct tensor behind = {TENSOR_FLOAT32, {4, {2, 2, 2, 1}}, values, false};
    const char *wanted = "0 0 255 0 0 255 0 0 ";
    check(MASK(""), &plain, &cropped, wanted);
    check(MASK(""), &channel, &cropped, wanted);
    check(MASK(""), &behind, &cropped, wanted);
    check(MASK(", \"threshold\": 0.6"), &plain, &cropped, "0 0 0 0 0 255 0 0 ");
}

static void test_whole_numbers_are_classes(void) {
    int64_t values[2][2][2] = {{{0}}, {{7, 21}, {255, 0}}};
    const struct tensor tensor = {TENSOR_INT64, {3, {2, 2, 2}}, values, false}, *list = &tensor;
    const char *name = "y";
    check(MASK(""), &tensor, &cropped, "0 7 21 0 0 255 0 0 ");
    values[1][0][0] = 256;
    struct opened opened = open_post(MASK(""));
    struct error err = {0};
    struct post_result result;
    const struct post_outputs outputs = {.tensors = &list, .names = &name, .count = 1, .items = 2};
    CHECK_INT(result_why(&opened, &outputs, 1, &cropped, &result, &err), -1);
    CHECK_STR(err.text,
              "output \"y\": the network's output has 256, a class of 0 to 255 is expected");
    post_result_release(&result);
    close_post(&opened);
}

/* More classes than the output has rows and columns, as networks of small outputs have. */
static void test_more_classes_than_pixels(void) {
    float planes[2][4][3][3] = {{{{0}}}};
    for (int i = 0; i < 9; i++) {
        (&planes[1][2][0][0])[i] = 1;
    }
    const struct tensor output = {TENSOR_FLOAT32, {4, {2, 4, 3, 3}}, planes, false};
    check(MASK(""), &output, &stretched, "2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 ");
}

static void test_shapes_that_do_not_fit(void) {
    struct opened opened = open_post(MASK(""));
    const struct tensor rows[] = {{TENSOR_FLOAT32, {4, {1, 5, 5, 5}}, NULL, false},
                                  {TENSOR_FLOAT32, {4, {1, 300, 512, 512}}, NULL, false},
                                  {TENSOR_INT64, {4, {1, 3, 8, 8}}, NULL, false},
                                  {TENSOR_FLOAT32, {2, {1, 5}}, NULL, false},
                                  {TENSOR_FLOAT32, {3, {3, 5, 5}}, NULL, false}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CHECK(!opened.kind->fits(opened.state, &rows[i], 1));
    }
    close_post(&opened);
}

int main(void) {
    TEST(test_the_best_class_of_each_pixel);
    TEST(test_one_channel_has_a_threshold);
    TEST(test_whole_numbers_are_classes);
    TEST(test_more_classes_than_pixels);
    TEST(test_shapes_that_do_not_fit);
    return TEST_END();
}
