// SPDX-License-Identifier: Apache-2.0
/* Embedding: vectors of items, and of the tokens of texts. */
#include "lib/number/half.h"
#include "tests/unit/agent/score/post/post_tests.h"

#include <math.h>

#define FIELDS(fields) "{\"postprocess\": {\"type\": \"Embedding\"" fields "}}"

/* Two texts with four tokens of two values each; the first has padding. */
static float tokens[] = {1, 8, 3, -2, 100, 100, 100, 100, /**/ 1, 0, 2, 0, 3, 0, 4, 4};
static const struct tensor of_tokens = {TENSOR_FLOAT32, {3, {2, 4, 2}}, tokens, false};
static const struct post_item padded = {.name = "a", .tokens = 2};
static const struct post_item whole = {.name = "a", .tokens = 4};
static const struct post_item padded_before = {.name = "a", .tokens = 3, .tokens_are_last = true};

static void check(const char *spec, const struct tensor *output, int64_t index,
                  const struct post_item *item, const char *wanted) {
    struct opened opened = open_post(spec);
    AUTO(text_freep) char *text = record_of(&opened, output, index, item);
    AUTO(text_freep) char *all = x_printf("{\"file\":\"a\",\"embedding\":%s}", wanted);
    CHECK_STR(text, all);
    close_post(&opened);
}

static void test_pooling_leaves_padding_out(void) {
    check(FIELDS(""), &of_tokens, 0, &padded, "[2.0,3.0]");
    check(FIELDS(", \"pooling\": \"Mean\""), &of_tokens, 1, &whole, "[2.5,1.0]");
    check(FIELDS(", \"pooling\": \"CLS\""), &of_tokens, 0, &padded, "[1.0,8.0]");
    check(FIELDS(", \"pooling\": \"Max\""), &of_tokens, 0, &padded, "[3.0,8.0]");
    check(FIELDS(", \"pooling\": \"Last\""), &of_tokens, 0, &padded, "[3.0,-2.0]");
    check(FIELDS(", \"pooling\": \"None\""), &of_tokens, 0, &padded, "[[1.0,8.0],[3.0,-2.0]]");
    check(FIELDS(", \"pooling\": \"CLS\""), &of_tokens, 1, &padded_before, "[2.0,0.0]");
    check(FIELDS(""), &of_tokens, 1, &padded_before, "[3.0,1.3333334]");
}

static void test_what_is_no_text_has_no_padding(void) {
    const struct post_item picture = {.name = "a"};
    check(FIELDS(""), &of_tokens, 1, &picture, "[2.5,1.0]");
}

static void test_one_vector_for_each_item(void) {
    float values[] = {1, 2, 3, 4};
    uint16_t halves[] = {0, 0, half_from_double(0.1), half_from_double(-2)};
    const struct tensor plain = {TENSOR_FLOAT32, {2, {2, 2}}, values, false};
    const struct tensor features = {TENSOR_FLOAT32, {4, {2, 2, 1, 1}}, values, false};
    const struct tensor last = {TENSOR_FLOAT32, {4, {2, 1, 1, 2}}, values, false};
    const struct tensor map = {TENSOR_FLOAT32, {4, {1, 2, 2, 1}}, values, false};
    const struct tensor half = {TENSOR_FLOAT16, {2, {2, 2}}, halves, false};
    check(FIELDS(""), &plain, 1, &padded, "[3.0,4.0]");
    check(FIELDS(""), &features, 1, &padded, "[3.0,4.0]");
    check(FIELDS(""), &last, 1, &padded, "[3.0,4.0]");
    check(FIELDS(""), &half, 1, &padded, "[0.099975586,-2.0]");
    struct opened opened = open_post(FIELDS(", \"pooling\": \"Mean\""));
    CHECK(!opened.kind->fits(opened.state, &plain, 2)); /* nothing to pool */
    CHECK(!opened.kind->fits(opened.state, &map, 1));   /* neither vectors nor one */
    CHECK(opened.kind->fits(opened.state, &of_tokens, 2));
    CHECK(!opened.kind->fits(opened.state, &of_tokens, 4));
    close_post(&opened);
}

static void test_length_and_type(void) {
    float values[] = {3, 4, 0, 0, 1e-3f, 0.3f};
    const struct tensor plain = {TENSOR_FLOAT32, {2, {3, 2}}, values, false};
    check(FIELDS(", \"normalize\": true"), &plain, 0, &padded, "[0.6,0.8]");
    check(FIELDS(", \"normalize\": true"), &plain, 1, &padded, "[0.0,0.0]");
    check(FIELDS(", \"normalize\": true, \"dtype\": \"int8\""), &plain, 0, &padded, "[76,102]");
    check(FIELDS(", \"dtype\": \"float16\""), &plain, 2, &padded, "[0.0010004044,0.30004883]");
}

static void check_fault(const char *spec, const struct tensor *output, const struct post_item *item,
                        const char *wanted) {
    const char *name = "vectors";
    struct error err = {0};
    const struct post_outputs outputs = {
        .tensors = &output, .names = &name, .count = 1, .items = output->shape.dims[0]};
    struct opened opened = open_post(spec);
    struct post_result result;
    CHECK_INT(result_why(&opened, &outputs, 0, item, &result, &err), -1);
    CHECK_STR(err.text, wanted);
    post_result_release(&result);
    close_post(&opened);
}

static void test_a_vector_of_no_use_is_named(void) {
    float values[] = {1, NAN, 1e6f, 2};
    const struct tensor bad = {TENSOR_FLOAT32, {2, {2, 2}}, values, false};
    const struct tensor large = {TENSOR_FLOAT32, {2, {1, 2}}, values + 2, false};
    const struct post_item longer = {.name = "a", .tokens = 5};
    check_fault(FIELDS(""), &bad, &padded,
                "output \"vectors\": value 1 of the vector is not a finite number");
    check_fault(FIELDS(", \"dtype\": \"float16\""), &large, &padded,
                "output \"vectors\": dtype float16 is too small: value 0 of the vector is not a "
                "finite number");
    check_fault(FIELDS(""), &of_tokens, &longer, "output \"vectors\": has 4 vectors for 5 tokens");
}

int main(void) {
    TEST(test_pooling_leaves_padding_out);
    TEST(test_what_is_no_text_has_no_padding);
    TEST(test_one_vector_for_each_item);
    TEST(test_length_and_type);
    TEST(test_a_vector_of_no_use_is_named);
    return TEST_END();
}
