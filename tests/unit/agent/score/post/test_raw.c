// SPDX-License-Identifier: Apache-2.0
/* Raw: outputs of any type and shape as nested lists. */
#include "tests/unit/agent/score/post/post_tests.h"

#include <math.h>

#define RAW "{\"postprocess\": {\"type\": \"Raw\"}}"

static char *record(const struct tensor *tensors, const char *const *names, size_t count,
                    int64_t items, int64_t index) {
    const struct tensor *list[4];
    for (size_t i = 0; i < count; i++) {
        list[i] = &tensors[i];
    }
    const struct post_outputs outputs = {
        .tensors = list, .names = names, .count = count, .items = items};
    const struct post_item item = {.name = "a\"b"};
    struct opened opened = open_post(RAW);
    char *text = record_of_list(&opened, &outputs, index, &item);
    close_post(&opened);
    return text;
}

static void test_all_outputs_under_their_names(void) {
    float floats[] = {1, 2, 3, 4, 0.1f, NAN, -3, INFINITY};
    int64_t whole[] = {7, INT64_MIN};
    const struct tensor tensors[] = {{TENSOR_FLOAT32, {3, {2, 2, 2}}, floats, false},
                                     {TENSOR_INT64, {1, {2}}, whole, false}};
    const char *const names[] = {"x", "count"};
    AUTO(text_freep) char *text = record(tensors, names, 2, 2, 1);
    CHECK_STR(text, "{\"file\":\"a\\\"b\",\"x\":[[0.1,null],[-3.0,null]],"
                    "\"count\":-9223372036854775808}");
}

static void test_every_type_is_exact(void) {
    uint64_t large[] = {UINT64_MAX};
    double third[] = {1 / 3.0};
    bool yes[] = {true};
    uint16_t half[] = {0x3555}; /* the half nearest to 1/3 */
    const struct tensor tensors[] = {{TENSOR_UINT64, {2, {1, 1}}, large, false},
                                     {TENSOR_FLOAT64, {1, {1}}, third, false},
                                     {TENSOR_BOOL, {2, {1, 1}}, yes, false},
                                     {TENSOR_FLOAT16, {1, {1}}, half, false}};
    const char *const names[] = {"u", "d", "b", "h"};
    AUTO(text_freep) char *text = record(tensors, names, 4, 1, 0);
    CHECK_STR(text, "{\"file\":\"a\\\"b\",\"u\":[18446744073709551615],\"d\":0.33333333333333331,"
                    "\"b\":[true],\"h\":0.33325195}");
}

static void test_a_long_list_is_whole(void) {
    enum { COUNT = 3000 };
    int32_t values[COUNT];
    for (int i = 0; i < COUNT; i++) {
        values[i] = i - COUNT / 2;
    }
    const struct tensor tensor = {TENSOR_INT32, {2, {1, COUNT}}, values, false};
    const char *const name = "v";
    AUTO(text_freep) char *text = record(&tensor, &name, 1, 1, 0);
    AUTO(tree_freep) json_t *tree = json_loads(text, 0, NULL);
    const json_t *list = json_object_get(tree, "v");
    CHECK_INT(json_array_size(list), COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        CHECK_INT(json_integer_value(json_array_get(list, i)), values[i]);
    }
}

static void test_without_an_axis_of_items(void) {
    float values[] = {1, 2, 3};
    const struct tensor tensor = {TENSOR_FLOAT32, {1, {3}}, values, false};
    const char *const name = "boxes";
    AUTO(text_freep) char *alone = record(&tensor, &name, 1, 1, 0);
    CHECK_STR(alone, "{\"file\":\"a\\\"b\",\"boxes\":[1.0,2.0,3.0]}");
    const struct tensor *list = &tensor;
    const struct post_outputs outputs = {.tensors = &list, .names = &name, .count = 1, .items = 2};
    struct opened opened = open_post(RAW);
    struct error err = {0};
    CHECK_INT(opened.kind->take(opened.state, &outputs, &err), -1);
    CHECK_STR(err.text, "spec.scorer.onnx.outputs: the network's output \"boxes\" is float32 3 for "
                        "2 items, the first axis must be that of the items: name others, or set "
                        "spec.miniBatchSize: 1 if the network can take one item at a time");
    close_post(&opened);
}

int main(void) {
    TEST(test_all_outputs_under_their_names);
    TEST(test_every_type_is_exact);
    TEST(test_a_long_list_is_whole);
    TEST(test_without_an_axis_of_items);
    return TEST_END();
}
