// SPDX-License-Identifier: Apache-2.0
/* Pictures that go to a device as bytes and come back as bytes equal those that go as floats. */
#include "agent/engine/device/kernel.h"
#include "agent/engine/ops/table.h"
#include "agent/score/feed/picture_rows.h"
#include "tests/unit/agent/score/post/post_tests.h"

#include <math.h>
#include <stdlib.h>

static const struct picture_form planes_form = {.type = TENSOR_FLOAT32, .channels = 3};

static void draw(struct picture *picture, int width, int height) {
    picture_init(picture, width, height);
    for (int i = 0; i < 3 * width * height; i++) {
        picture->pixels[i] = (uint8_t)(i * 37 % 251 + i % 5);
    }
}

/* The operator `id` with these numbers, by the plain kernel. */
static void apply(enum op_id id, const struct pixel_conversion *bytes, const struct tensor *x,
                  struct tensor *const *outputs, int output_count) {
    struct error err = {0};
    const struct attribute attributes[] = {
        {.name = "scale", .kind = ATTRIBUTE_NUMBERS, .count = 3, .numbers = bytes->scale},
        {.name = "shift", .kind = ATTRIBUTE_NUMBERS, .count = 3, .numbers = bytes->shift},
        {.name = "turned", .kind = ATTRIBUTE_INTEGER, .integer = bytes->is_bgr}};
    const struct node node = {.op = op_of_id(id),
                              .name = "n",
                              .input_count = 1,
                              .output_count = output_count,
                              .attribute_count = 3,
                              .attributes = attributes};
    CHECK_OK(device_evaluate(&node, &x, outputs, &err), &err);
}

static void check_in(const struct preprocess *preprocess, int width, int height) {
    struct picture picture;
    struct preprocess_size size;
    struct error err = {0};
    struct tensor wanted = {0}, seen = {0}, bytes = {0};
    draw(&picture, width, height);
    CHECK_OK(preprocess_measure(preprocess, width, height, &size, &err), &err);
    struct shape planes = {4, {1, 3, size.padded_height, size.padded_width}};
    struct shape packed = {4, {1, size.padded_height, size.padded_width, 3}};
    CHECK_OK(tensor_init(&wanted, TENSOR_FLOAT32, &planes, &err), &err);
    CHECK_OK(tensor_init(&seen, TENSOR_FLOAT32, &planes, &err), &err);
    CHECK_OK(tensor_init(&bytes, TENSOR_UINT8, &packed, &err), &err);
    picture_rows_fill(preprocess, &picture, &size, &planes_form, wanted.data);
    picture_rows_fill_bytes(preprocess, &picture, &size, bytes.data);
    const struct pixel_conversion numbers = preprocess_bytes(preprocess);
    apply(OP_FROM_BYTES, &numbers, &bytes, (struct tensor *[]){&seen}, 1);
    for (int64_t i = 0; i < shape_count(&planes); i++) {
        CHECK(fabsf(((float *)seen.data)[i] - ((float *)wanted.data)[i]) < 1e-6f);
    }
    picture_release(&picture);
    tensor_release(&wanted);
    tensor_release(&seen);
    tensor_release(&bytes);
}

static void test_in_every_range_and_order(void) {
    for (int range = 0; range < RANGE_COUNT; range++) {
        for (int is_bgr = 0; is_bgr < 2; is_bgr++) {
            struct preprocess preprocess = {
                .multiple_of = 1, .is_bgr = is_bgr, .range = (enum preprocess_range)range};
            check_in(&preprocess, 7, 5);
            preprocess.multiple_of = 4; /* padded */
            check_in(&preprocess, 7, 5);
            preprocess.width = 10; /* and scaled */
            check_in(&preprocess, 7, 5);
        }
    }
}

/* Two pictures [2, 3, 8, 12] of values in and beyond the range. */
static void fill(struct tensor *floats, enum preprocess_range range) {
    float *values = floats->data;
    for (int64_t i = 0; i < shape_count(&floats->shape); i++) {
        float part = (float)(i * 29 % 311) / 255 - 0.1f; /* -0.1 to 1.12 */
        values[i] = range == RANGE_BYTE ? part * 255 : range == RANGE_UNIT ? part : 2 * part - 1;
    }
}

/* Places with NaN in the second of two pictures of 11 x 7 in 12 x 8, -1: none; what is only in the
 * padding is cut off and does not matter. */
static const struct {
    int first, second;
    bool is_bad;
} places[] = {{-1, -1, false},          {3 * 12 + 4, -1, true},          {3 * 12 + 11, -1, false},
              {7 * 12, -1, false},      {6 * 12 + 10, -1, true},         {0, -1, true},
              {7 * 12 + 11, 11, false}, {3 * 12 + 11, 3 * 12 + 4, true}, {7 * 12 + 3, 12, true}};

static void check_out(const struct opened *opened, enum preprocess_range range, size_t place) {
    const struct post_item item = {
        .place = {.width = 11, .height = 7, .input_width = 12, .input_height = 8}};
    struct shape planes = {4, {2, 3, 8, 12}}, packed = {4, {2, 8, 12, 3}}, rows = {2, {2, 8}};
    struct tensor floats = {0}, bytes = {0}, bad = {0};
    struct error err = {0};
    CHECK_OK(tensor_init(&floats, TENSOR_FLOAT32, &planes, &err), &err);
    CHECK_OK(tensor_init(&bytes, TENSOR_UINT8, &packed, &err), &err);
    CHECK_OK(tensor_init(&bad, TENSOR_INT32, &rows, &err), &err);
    fill(&floats, range);
    const int at[] = {places[place].first, places[place].second};
    for (int i = 0; i < 2; i++) {
        if (at[i] >= 0) { /* in separate planes */
            ((float *)floats.data)[(3 + i) * 8 * 12 + at[i]] = NAN;
        }
    }
    apply(OP_TO_BYTES, opened->kind->pixels(opened->state), &floats,
          (struct tensor *[]){&bytes, &bad}, 2);
    for (int i = 0; i < 2; i++) {
        struct post_result wanted = {0}, seen = {0};
        const struct tensor *from[] = {&floats}, *packed_from[] = {&bytes, &bad};
        const struct post_outputs plain = {.tensors = from, .count = 1, .items = 2};
        const struct post_outputs given = {
            .tensors = packed_from, .count = 1, .items = 2, .has_pixels = true};
        int first = result_of(opened, &plain, i, &item, &wanted);
        int second = result_of(opened, &given, i, &item, &seen);
        CHECK_INT(first, places[place].is_bad && i == 1 ? -1 : 0);
        CHECK_INT(second, first);
        if (first == 0 && second == 0) {
            CHECK_INT(seen.picture.width, wanted.picture.width);
            CHECK_INT(seen.picture.height, wanted.picture.height);
            CHECK(memcmp(seen.picture.pixels, wanted.picture.pixels, 3 * 11 * 7) == 0);
        }
        post_result_release(&wanted);
        post_result_release(&seen);
    }
    tensor_release(&floats);
    tensor_release(&bytes);
    tensor_release(&bad);
}

static void test_out_in_every_range_and_order(void) {
    static const char *const names[] = {"Byte", "Unit", "Signed"};
    for (int range = 0; range < RANGE_IMAGENET; range++) {
        for (size_t place = 0; place < 2 * ARRAY_LEN(places); place++) {
            AUTO(text_freep)
            char *onnx = x_printf("{\"preprocess\": {\"color\": \"%s\"}, "
                                  "\"postprocess\": {\"range\": \"%s\"}}",
                                  place & 1 ? "BGR" : "RGB", names[range]);
            struct opened opened = open_post(onnx);
            check_out(&opened, (enum preprocess_range)range, place / 2);
            close_post(&opened);
        }
    }
}

int main(void) {
    TEST(test_in_every_range_and_order);
    TEST(test_out_in_every_range_and_order);
    return TEST_END();
}
