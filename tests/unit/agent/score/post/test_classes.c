// SPDX-License-Identifier: Apache-2.0
/* Classes and Values: records of scores and numbers. */
#include "tests/unit/agent/score/post/post_tests.h"

#include <math.h>
#include <unistd.h>

static void check_record(const char *spec, const struct tensor *output, const char *wanted) {
    struct opened opened = open_post(spec);
    const struct post_item item = {.name = "a"};
    AUTO(text_freep) char *text = record_of(&opened, output, 1, &item);
    CHECK_STR(text, wanted);
    close_post(&opened);
}

static void test_classes_are_the_best_with_their_labels(void) {
    char path[] = "/tmp/windlass-labels-XXXXXX";
    int fd = mkstemp(path);
    CHECK_INT(write(fd, "cat\r\ndog\nbird", 13), 13);
    close(fd);
    setenv("labels", "/tmp", 1);
    AUTO(text_freep)
    char *json = x_printf(
        "{\"postprocess\": {\"type\": \"Classes\", \"top\": 3, \"labels\": \"labels/%s\"}}",
        path + strlen("/tmp/"));
    float values[] = {9, 9, 9, 9, 0.25f, -1, 0.5f, 0.25f};
    const struct tensor tensor = {TENSOR_FLOAT32, {4, {2, 4, 1, 1}}, values, false};
    check_record(json, &tensor,
                 "{\"classes\":[{\"index\":2,\"label\":\"bird\",\"score\":0.5},"
                 "{\"index\":0,\"label\":\"cat\",\"score\":0.25},{\"index\":3,\"score\":0.25}],"
                 "\"file\":\"a\"}");
    unlink(path);
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

static void test_scores_become_probabilities(void) {
    const char *softmax =
        "{\"postprocess\": {\"type\": \"Classes\", \"top\": 2, \"scores\": \"Softmax\"}}";
    const char *sigmoid =
        "{\"postprocess\": {\"type\": \"Classes\", \"top\": 2, \"scores\": \"Sigmoid\"}}";
    float values[] = {0, 0, 0, 1000, 1000, -1000}; /* e^1000 overflows */
    const struct tensor tensor = {TENSOR_FLOAT32, {2, {2, 3}}, values, false};
    check_record(softmax, &tensor,
                 "{\"classes\":[{\"index\":0,\"score\":0.5},{\"index\":1,\"score\":0.5}],"
                 "\"file\":\"a\"}");
    check_record(sigmoid, &tensor,
                 "{\"classes\":[{\"index\":0,\"score\":1.0},{\"index\":1,\"score\":1.0}],"
                 "\"file\":\"a\"}");
    /* One number for each item, as of a comparison of two texts. */
    const struct tensor column = {TENSOR_FLOAT32, {2, {6, 1}}, values, false};
    check_record(sigmoid, &column, "{\"file\":\"a\",\"values\":[0.5]}");
    check_record("{\"postprocess\": {\"type\": \"Values\", \"scores\": \"Sigmoid\"}}", &column,
                 "{\"file\":\"a\",\"values\":[0.5]}");
    check_record(softmax, &column, "{\"file\":\"a\",\"values\":[0.0]}");
}

static void test_heads_have_their_names(void) {
    float ages[] = {0, 0, 31.5f, 2}, kinds[] = {1, 0, 0.25f, 0.75f};
    const struct tensor age = {TENSOR_FLOAT32, {2, {4, 1}}, ages, false};
    const struct tensor kind = {TENSOR_FLOAT32, {2, {2, 2}}, kinds, false};
    const struct tensor *tensors[] = {&age, &kind};
    const char *names[] = {"age", "kind"};
    const struct post_item item = {.name = "a"};
    const struct post_outputs four = {.tensors = tensors, .names = names, .count = 1, .items = 4};
    const struct post_outputs two = {
        .tensors = tensors + 1, .names = names + 1, .count = 1, .items = 2};
    struct opened opened =
        open_post("{\"postprocess\": {\"type\": \"Classes\"}, \"outputs\": [\"age\", \"kind\"]}");
    AUTO(text_freep) char *number = record_of_list(&opened, &four, 2, &item);
    AUTO(text_freep) char *classes = record_of_list(&opened, &two, 1, &item);
    CHECK_STR(number, "{\"age\":[31.5],\"file\":\"a\"}");
    CHECK_STR(classes, "{\"file\":\"a\",\"kind\":[{\"index\":1,\"score\":0.75},"
                       "{\"index\":0,\"score\":0.25}]}");
    struct error err = {0};
    const struct post_outputs both = {.tensors = tensors, .names = names, .count = 2, .items = 2};
    CHECK_INT(opened.kind->take(opened.state, &both, &err), -1);
    CHECK_STR(err.text,
              "spec.scorer.onnx.outputs: the network's output \"age\" is float32 4x1 for 2 "
              "items, float32 [n, c] is expected");
    names[1] = "file";
    error_clear(&err);
    CHECK_INT(opened.kind->take(opened.state, &two, &err), -1);
    CHECK(strstr(err.text, "\"file\" is the name of the item"));
    close_post(&opened);
}

int main(void) {
    TEST(test_scores_become_probabilities);
    TEST(test_heads_have_their_names);
    TEST(test_classes_are_the_best_with_their_labels);
    TEST(test_values_are_no_classes);
    return TEST_END();
}
