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

int main(void) {
    TEST(test_classes_are_the_best_with_their_labels);
    TEST(test_values_are_no_classes);
    return TEST_END();
}
