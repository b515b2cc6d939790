// SPDX-License-Identifier: Apache-2.0
/* Text: greedy decoding of scores of characters. */
#include "tests/unit/agent/score/post/post_tests.h"

#include <math.h>
#include <unistd.h>

enum { STEPS = 6, CLASSES = 4 }; /* the blank, a, ä and the space */

static struct opened open_text(const char *fields) {
    char path[] = "/tmp/windlass-characters-XXXXXX";
    int fd = mkstemp(path);
    CHECK_INT(write(fd, "a\n\xC3\xA4\n", 5), 5);
    close(fd);
    setenv("characters", "/tmp", 1);
    AUTO(text_freep)
    char *json =
        x_printf("{\"postprocess\": {\"type\": \"Text\", \"labels\": \"characters/%s\"%s}}",
                 path + strlen("/tmp/"), fields);
    struct opened opened = open_post(json);
    unlink(path);
    return opened;
}

/* The scores of these classes, 0.5 each, by item and step. */
static void fill(float *values, int64_t item_step, int64_t time_step, const char *const *texts,
                 int64_t items) {
    memset(values, 0, (size_t)items * STEPS * CLASSES * sizeof *values);
    for (int64_t i = 0; i < items; i++) {
        for (int64_t t = 0; t < STEPS; t++) {
            values[i * item_step + t * time_step + (texts[i][t] - '0')] = 0.5f;
        }
    }
}

static void test_repeated_characters_count_once(void) {
    static const char *const texts[] = {"000000", "110122", "301103"};
    float values[3 * STEPS * CLASSES];
    const struct tensor by_item = {TENSOR_FLOAT32, {3, {3, STEPS, CLASSES}}, values, false};
    const struct tensor by_time = {TENSOR_FLOAT32, {3, {STEPS, 3, CLASSES}}, values, false};
    static const char *const wanted[] = {"{\"file\":\"a\",\"text\":\"\",\"score\":0.0}",
                                         "{\"file\":\"a\",\"text\":\"aa\xC3\xA4\",\"score\":0.5}",
                                         "{\"file\":\"a\",\"text\":\" a \",\"score\":0.5}"};
    const struct post_item item = {.name = "a"};
    const char *name = "y";
    struct opened opened = open_text("");
    for (int64_t i = 0; i < 3; i++) {
        const struct tensor *list = &by_time;
        const struct post_outputs outputs = {
            .tensors = &list, .names = &name, .count = 1, .items = 3};
        struct post_result result;
        fill(values, STEPS * CLASSES, CLASSES, texts, 3);
        AUTO(text_freep) char *first = record_of(&opened, &by_item, i, &item);
        fill(values, CLASSES, 3 * CLASSES, texts, 3);
        CHECK(opened.kind->fits(opened.state, &by_time, 3));
        CHECK_INT(result_of(&opened, &outputs, i, &item, &result), 0);
        AUTO(text_freep) char *second = result_text(&result);
        CHECK_STR(first, wanted[i]);
        CHECK_STR(second, wanted[i]);
    }
    close_post(&opened);
}

static void test_the_blank_may_be_last(void) {
    static const char *const texts[] = {"003110"};
    float values[STEPS * CLASSES];
    const struct tensor tensor = {TENSOR_FLOAT32, {3, {1, STEPS, CLASSES}}, values, false};
    const struct post_item item = {.name = "a"};
    struct opened opened = open_text(", \"blank\": \"Last\", \"scores\": \"Softmax\"");
    fill(values, 0, CLASSES, texts, 1);
    AUTO(text_freep) char *text = record_of(&opened, &tensor, 0, &item);
    CHECK_STR(text, "{\"file\":\"a\",\"text\":\"a\xC3\xA4"
                    "a\",\"score\":0.35466126}");
    close_post(&opened);
}

static void test_shapes_that_do_not_fit(void) {
    struct opened opened = open_text(""), named = open_text(", \"layout\": \"NTC\"");
    const struct tensor square = {TENSOR_FLOAT32, {3, {7, 7, CLASSES}}, NULL, false};
    const struct tensor more = {TENSOR_FLOAT32, {3, {7, 9, CLASSES + 1}}, NULL, false};
    CHECK(!opened.kind->fits(opened.state, &square, 7)); /* items or time first? */
    CHECK(named.kind->fits(named.state, &square, 7));
    CHECK(!opened.kind->fits(opened.state, &more, 7));
    close_post(&opened);
    close_post(&named);
    struct error err = {0};
    struct post_state *state = NULL;
    AUTO(tree_freep) json_t *spec = json_loads("{}", 0, NULL);
    CHECK_INT(post_text.open(spec, &state, &err), -1);
    CHECK_STR(err.text, "spec.scorer.onnx.postprocess.labels: type Text needs a file with one "
                        "character a line");
}

int main(void) {
    TEST(test_repeated_characters_count_once);
    TEST(test_the_blank_may_be_last);
    TEST(test_shapes_that_do_not_fit);
    return TEST_END();
}
