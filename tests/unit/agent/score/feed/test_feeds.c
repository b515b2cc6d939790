// SPDX-License-Identifier: Apache-2.0
/* The sources of a network's inputs, each by itself: pictures in every form that networks take, and
 * constants. (columns and slices have tests of their own; whole jobs: tests/e2e/score.) */
#include "agent/score/feed/feed.h"

#include "agent/data/text/token_roles.h"
#include "lib/number/half.h"
#include "lib/tree.h"
#include "tests/test.h"
#include "tests/unit/agent/spec_defaults.h"

#include <math.h>

/* before, part and after it as JSON */
static json_t *parse(const char *before, const char *part, const char *after) {
    char text[512];
    json_t *json = NULL;
    struct error err = {0};
    snprintf(text, sizeof text, "%s%s%s", before, part, after);
    CHECK_OK(tree_parse(text, strlen(text), sizeof text, &json, &err), &err);
    return json;
}

/* ---- pictures ------------------------------------------------------------------------------- */

/* Opens a feed for a picture with these fields of preprocess. */
static int open_picture(const char *fields, const struct feed_input *input, struct feed **ret_feed,
                        struct error *err) {
    AUTO(tree_freep)
    json_t *spec = spec_fill(parse("{\"scorer\":{\"onnx\":{\"preprocess\":", fields, "}}}"));
    const struct feed_options options = {.spec = spec, .inputs = input, .count = 1};
    return feed_picture.open(&options, ret_feed, err);
}

/* Two pixels, the left one (255, 0, 51), the right one black. */
static struct item two_pixels(void) {
    struct item item = {.type = ITEM_PICTURE, .name = "p.png"};
    picture_init(&item.picture, 2, 1);
    memcpy(item.picture.pixels, (const uint8_t[]){255, 0, 51, 0, 0, 0}, 6);
    return item;
}

static double value_of(const struct tensor *tensor, size_t at) {
    switch (tensor->type) {
    case TENSOR_FLOAT16:
        return (double)half_to_float(((const uint16_t *)tensor->data)[at]);
    case TENSOR_UINT8:
        return ((const uint8_t *)tensor->data)[at];
    default:
        return (double)((const float *)tensor->data)[at];
    }
}

/* two_pixels in each form */
static const struct {
    struct feed_input input;
    const char *fields;
    int64_t dims[4];
    double values[12];
} pictures[] = {
    {{.type = TENSOR_FLOAT32, .shape = {4, {-1, 3, -1, -1}}},
     "{}",
     {1, 3, 1, 2},
     {255, 0, 0, 0, 51, 0}},
    {{.type = TENSOR_FLOAT32, .shape = {4, {-1, -1, -1, 3}}},
     "{}",
     {1, 1, 2, 3},
     {255, 0, 51, 0, 0, 0}},
    {{.type = TENSOR_FLOAT32, .shape = {4, {-1, -1, -1, -1}}},
     "{\"layout\":\"NHWC\"}",
     {1, 1, 2, 3},
     {255, 0, 51, 0, 0, 0}},
    {{.type = TENSOR_UINT8, .shape = {4, {-1, -1, -1, 3}}},
     "{\"color\":\"BGR\"}",
     {1, 1, 2, 3},
     {51, 0, 255, 0, 0, 0}},
    {{.type = TENSOR_FLOAT16, .shape = {4, {-1, 3, -1, -1}}},
     "{\"range\":\"Unit\"}",
     {1, 3, 1, 2},
     {1, 0, 0, 0, 0.2, 0}},
    {{.type = TENSOR_FLOAT32, .shape = {4, {-1, 1, -1, -1}}},
     "{}",
     {1, 1, 1, 2},
     {0.299 * 255 + 0.114 * 51, 0}},
    {{.type = TENSOR_FLOAT32, .shape = {4, {-1, -1, -1, 1}}},
     "{\"range\":\"Unit\"}",
     {1, 1, 2, 1},
     {0.299 + 0.114 * 0.2, 0}},
    {{.type = TENSOR_FLOAT32, .shape = {4, {-1, 3, -1, -1}}},
     "{\"mean\":[100,10,1],\"std\":[5,2,10]}",
     {1, 3, 1, 2},
     {31, -20, -5, -5, 5, -0.1}},
    {{.type = TENSOR_FLOAT32, .shape = {4, {-1, 3, -1, -1}}},
     "{\"range\":\"Unit\",\"mean\":[0.5],\"std\":[0.5]}",
     {1, 3, 1, 2},
     {1, -1, -1, -1, -0.6, -1}},
    /* 2x1 in 2x3: a row of margin above and below */
    {{.type = TENSOR_FLOAT32, .shape = {4, {-1, -1, -1, 1}}},
     "{\"width\":2,\"height\":3,\"fit\":\"Pad\",\"padValue\":114}",
     {1, 3, 2, 1},
     {114, 114, 0.299 * 255 + 0.114 * 51, 0, 114, 114}},
    /* of 2x1, the left one of the two halves: an odd pixel is cut off on the right */
    {{.type = TENSOR_UINT8, .shape = {4, {-1, 1, 1, 3}}},
     "{\"fit\":\"Crop\",\"layout\":\"NHWC\"}",
     {1, 1, 1, 3},
     {255, 0, 51}},
    /* the network's own size */
    {{.type = TENSOR_UINT8, .shape = {4, {1, 1, 2, 3}}},
     "{\"layout\":\"NHWC\"}",
     {1, 1, 2, 3},
     {255, 0, 51, 0, 0, 0}},
};

static void test_a_picture_has_the_form_of_the_input(void) {
    for (size_t i = 0; i < ARRAY_LEN(pictures); i++) {
        struct error err = {0};
        struct feed *feed = NULL;
        struct item item = two_pixels();
        struct tensor values = {0};
        bool is_shared = true;
        uint16_t memory[64] = {0};
        float room[12];
        CHECK_OK(open_picture(pictures[i].fields, &pictures[i].input, &feed, &err), &err);
        CHECK_OK(feed_picture.take(feed, &(struct feed_item){.item = &item}, &err), &err);
        CHECK_OK(feed_picture.measure(feed, 0, &values, &is_shared, &err), &err);
        CHECK(!is_shared && values.type == pictures[i].input.type && values.shape.rank == 4);
        CHECK(memcmp(values.shape.dims, pictures[i].dims, sizeof pictures[i].dims) == 0);
        values.data = values.type == TENSOR_FLOAT32 ? (void *)room : (void *)memory;
        feed_picture.fill(feed, 0, &values.shape, values.data);
        for (int64_t k = 0; k < shape_count(&values.shape); k++) {
            double found = value_of(&values, (size_t)k), wanted = pictures[i].values[k];
            if (!(fabs(found - wanted) < 1e-3 * MAX(1, fabs(wanted)))) {
                printf("# row %zu, value %d: %g, expected %g\n", i, (int)k, found, wanted);
                CHECK(false);
            }
        }
        feed_picture.free(feed);
        picture_release(&item.picture);
    }
}

static void test_a_cropped_picture_begins_outside(void) {
    static const struct feed_input input = {.type = TENSOR_FLOAT32, .shape = {4, {-1, 3, -1, -1}}};
    struct error err = {0};
    struct feed *feed = NULL;
    struct item item = {.type = ITEM_PICTURE, .name = "p.png"};
    picture_init(&item.picture, 400, 100);
    CHECK_OK(open_picture("{\"width\":50,\"height\":50,\"fit\":\"Crop\"}", &input, &feed, &err),
             &err);
    CHECK_OK(feed_picture.take(feed, &(struct feed_item){.item = &item}, &err), &err);
    const struct preprocess_size *size = feed_picture.size(feed);
    CHECK_INT(size->width, 200);
    CHECK_INT(size->height, 50);
    CHECK_INT(size->left, -75);
    CHECK_INT(size->top, 0);
    feed_picture.free(feed);
    picture_release(&item.picture);
}

static void test_inputs_that_are_not_pictures_are_refused(void) {
    static const struct {
        struct feed_input input;
        const char *fields, *says;
    } rows[] = {
        {{.type = TENSOR_INT64, .shape = {4, {-1, 3, -1, -1}}},
         "{}",
         "the network's input x is int64 ?x3x?x?, for pictures float32, float16 or uint8"},
        {{.type = TENSOR_FLOAT32, .shape = {2, {-1, 3}}}, "{}", "is float32 ?x3, for pictures"},
        {{.type = TENSOR_FLOAT32, .shape = {4, {-1, 4, -1, -1}}}, "{}", "is float32 ?x4x?x?"},
        {{.type = TENSOR_FLOAT32, .shape = {4, {-1, -1, -1, 3}}},
         "{\"layout\":\"NCHW\",\"width\":8}",
         "so width and height must make that size"},
        {{.type = TENSOR_FLOAT32, .shape = {4, {-1, 3, 48, -1}}},
         "{\"width\":64}",
         "is ?x3x48x?, so width and height must make that size"},
        {{.type = TENSOR_FLOAT32, .shape = {4, {-1, 3, 32, 48}}},
         "{\"width\":48,\"height\":48}",
         "is ?x3x32x48, so width and height must make that size"},
        {{.type = TENSOR_FLOAT32, .shape = {4, {-1, 3, -1, -1}}},
         "{\"fit\":\"Pad\",\"width\":8}",
         "preprocess.fit: Pad and Crop need width and height"},
        {{.type = TENSOR_FLOAT32, .shape = {4, {-1, 3, -1, -1}}},
         "{\"range\":\"ImageNet\",\"mean\":[1]}",
         "ImageNet has a mean and a std of its own"},
        {{.type = TENSOR_FLOAT32, .shape = {4, {-1, 3, -1, -1}}},
         "{\"std\":[1,0,1]}",
         "std above 0"},
        {{.type = TENSOR_FLOAT32, .shape = {4, {-1, 3, -1, -1}}},
         "{\"mean\":[1,2]}",
         "spec.scorer.onnx.preprocess.mean: one number or three are expected"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct feed *feed = NULL;
        struct feed_input input = rows[i].input;
        input.name = "x";
        CHECK_INT(open_picture(rows[i].fields, &input, &feed, &err), -1);
        CHECK(strstr(err.text, rows[i].says));
        error_clear(&err);
    }
}

/* ---- constants ------------------------------------------------------------------------------ */

static int open_constant(const char *list, const struct feed_input *input, struct feed **ret_feed,
                         struct error *err) {
    AUTO(tree_freep) json_t *entry = parse("{\"name\":\"k\",\"constant\":", list, "}");
    const struct feed_options options = {
        .entry = entry, .field = "spec.scorer.onnx.inputs[1]", .inputs = input, .count = 1};
    return feed_constant.open(&options, ret_feed, err);
}

static void test_a_constant_fills_its_input(void) {
    static const struct {
        struct feed_input input;
        const char *list;
        bool is_shared;
        struct shape shape;
        double last;
    } rows[] = {
        {{.type = TENSOR_FLOAT32, .shape = {0}}, "[0.5]", true, {0}, 0.5},
        {{.type = TENSOR_FLOAT32, .shape = {1, {3}}}, "[0.5]", true, {1, {3}}, 0.5},
        {{.type = TENSOR_FLOAT32, .shape = {1, {3}}}, "[1,2,-3e-1]", true, {1, {3}}, -0.3},
        {{.type = TENSOR_FLOAT16, .shape = {2, {-1, 2}}}, "[7,8]", false, {2, {1, 2}}, 8},
        {{.type = TENSOR_UINT8, .shape = {2, {2, -1}}}, "[1,2,3,255]", true, {2, {2, 2}}, 255},
        {{.type = TENSOR_FLOAT32, .shape = {2, {-1, -1}}}, "[1,2,4]", false, {2, {1, 3}}, 4},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct feed *feed = NULL;
        struct tensor values = {0};
        bool is_shared = !rows[i].is_shared;
        float room[8];
        CHECK_OK(open_constant(rows[i].list, &rows[i].input, &feed, &err), &err);
        CHECK_OK(feed_constant.take(feed, &(struct feed_item){0}, &err), &err);
        CHECK_OK(feed_constant.measure(feed, 0, &values, &is_shared, &err), &err);
        CHECK_INT(is_shared, rows[i].is_shared);
        CHECK(shape_equal(&values.shape, &rows[i].shape));
        values.data = room;
        feed_constant.fill(feed, 0, &values.shape, room);
        double last = value_of(&values, (size_t)shape_count(&values.shape) - 1);
        CHECK(fabs(last - rows[i].last) < 1e-6);
        feed_constant.free(feed);
    }
}

static void test_constants_that_do_not_fit_are_refused(void) {
    static const struct {
        struct feed_input input;
        const char *list;
    } rows[] = {
        {{.type = TENSOR_FLOAT32, .shape = {1, {3}}}, "[1,2]"},
        {{.type = TENSOR_FLOAT32, .shape = {1, {3}}}, "[]"},
        {{.type = TENSOR_FLOAT32, .shape = {1, {1}}}, "[\"one\"]"},
        {{.type = TENSOR_UINT8, .shape = {1, {1}}}, "[256]"},
        {{.type = TENSOR_UINT8, .shape = {1, {1}}}, "[-1]"},
        {{.type = TENSOR_INT32, .shape = {1, {1}}}, "[2147483648]"},
        {{.type = TENSOR_INT64, .shape = {1, {1}}}, "[0.5]"},
        {{.type = TENSOR_BOOL, .shape = {1, {1}}}, "[2]"},
        {{.type = TENSOR_FLOAT32, .shape = {2, {1 << 20, 1 << 20}}}, "[1]"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct feed *feed = NULL;
        struct feed_input input = rows[i].input;
        input.name = "k";
        CHECK_INT(open_constant(rows[i].list, &input, &feed, &err), -1);
        CHECK(strstr(err.text, "spec.scorer.onnx.inputs[1].constant: a list of one number"));
        CHECK(strstr(err.text, "the network's input k is"));
        error_clear(&err);
    }
}

/* ---- tokens --------------------------------------------------------------------------------- */

static void test_names_say_which_tokens_an_input_takes(void) {
    static const struct {
        const char *name;
        int role; /* -1: none */
    } rows[] = {
        {"input_ids", TOKEN_IDS},
        {"INPUT_MASK", TOKEN_MASK},
        {"segment_ids", TOKEN_TYPE_IDS},
        {"serving_default_input_ids:0", TOKEN_IDS},
        {"bert/position_ids", TOKEN_POSITIONS},
        {"myinput_ids", -1},
        {"input_ids_b", -1},
        {"x", -1},
    };
    AUTO(tree_freep) json_t *entry = parse("", "{\"name\":\"input_ids\",\"tokens\":\"Mask\"}", "");
    enum token_role role;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool is_known = token_role_find(NULL, rows[i].name, &role);
        CHECK_INT(is_known ? (int)role : -1, rows[i].role);
    }
    CHECK(token_role_find(entry, "input_ids", &role) && role == TOKEN_MASK);
}

int main(void) {
    TEST(test_a_picture_has_the_form_of_the_input);
    TEST(test_a_cropped_picture_begins_outside);
    TEST(test_inputs_that_are_not_pictures_are_refused);
    TEST(test_a_constant_fills_its_input);
    TEST(test_constants_that_do_not_fit_are_refused);
    TEST(test_names_say_which_tokens_an_input_takes);
    return TEST_END();
}
