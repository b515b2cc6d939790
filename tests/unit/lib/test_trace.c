// SPDX-License-Identifier: Apache-2.0
/* The file is JSON at every size, has all added slices, and exact times. The file of a training:
 * tests/unit/agent/train/record/test_timeline.c. */
#include "lib/trace.h"

#include "lib/tree.h"
#include "tests/test.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

enum { BYTES_MAX = 1 << 16 };

static json_t *written(const struct trace *trace, size_t size, size_t bytes_max) {
    struct error err = {0};
    json_error_t where;
    AUTO(buffer_release) struct buffer file;
    buffer_init(&file, bytes_max);
    CHECK_OK(trace_write(trace, size, &file, &err), &err);
    json_t *tree = json_loadb(file.data, file.size, JSON_REJECT_DUPLICATES, &where);
    CHECK(tree != NULL);
    return tree;
}

static const json_t *event_at(const json_t *tree, size_t index) {
    return json_array_get(json_object_get(tree, "traceEvents"), index);
}

static double number(const json_t *event, const char *field) {
    return json_number_value(json_object_get(event, field));
}

static void test_what_is_added_is_there(void) {
    AUTO(trace_release) struct trace trace;
    const struct trace_argument figures[] = {{"GFLOP", 0.25}, {"MB", (double)NAN}, {"share", 1e-3}};
    trace_init(&trace, 7, 1000000, BYTES_MAX);
    trace_name_process(&trace, "a \"model\"\\\n");
    trace_name_lane(&trace, 3, "steps");
    trace_add(&trace, &(struct trace_span){3, "Conv \x01", 1001234, 1002001, figures, 3});
    trace_add(&trace, &(struct trace_span){.name = "before", .began_ns = 0, .ended_ns = 5});
    trace_count(&trace, 1500000, (struct trace_argument){"loss", 0.5});
    trace_count(&trace, 1500000, (struct trace_argument){"loss", (double)INFINITY});
    AUTO(tree_freep) json_t *tree = written(&trace, trace_size(&trace), BYTES_MAX);
    const json_t *span = event_at(tree, 3), *early = event_at(tree, 4), *count = event_at(tree, 5);
    CHECK_INT(json_array_size(json_object_get(tree, "traceEvents")), 6);
    CHECK_STR(tree_text(event_at(tree, 0), "args.name", ""), "a ?model???");
    CHECK_INT(number(json_object_get(event_at(tree, 1), "args"), "sort_index"), 7);
    CHECK_STR(tree_text(event_at(tree, 2), "args.name", ""), "steps");
    CHECK_STR(tree_text(span, "name", ""), "Conv ?");
    CHECK_STR(tree_text(span, "ph", ""), "X");
    CHECK_INT(number(span, "pid"), 7);
    CHECK_INT(number(span, "tid"), 3);
    CHECK(fabs(number(span, "ts") - 1.234) < 1e-12 && fabs(number(span, "dur") - 0.767) < 1e-12);
    CHECK_INT(json_object_size(json_object_get(span, "args")), 2);
    CHECK(fabs(number(json_object_get(span, "args"), "share") - 1e-3) < 1e-12);
    CHECK(number(early, "ts") == 0 && !json_object_get(early, "args"));
    CHECK_STR(tree_text(count, "ph", ""), "C");
    CHECK(fabs(number(json_object_get(count, "args"), "loss") - 0.5) < 1e-12);
}

static void test_names_are_cut(void) {
    AUTO(trace_release) struct trace trace;
    char name[1000];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    trace_init(&trace, 1, 0, BYTES_MAX);
    trace_add(&trace, &(struct trace_span){.name = name});
    AUTO(tree_freep) json_t *tree = written(&trace, trace_size(&trace), BYTES_MAX);
    CHECK_INT(strlen(tree_text(event_at(tree, 0), "name", "")), TRACE_NAME_MAX - 1);
}

static void test_a_full_one_is_whole(void) {
    for (size_t max = 1024; max < 1500; max += 7) {
        AUTO(trace_release) struct trace trace;
        trace_init(&trace, 1, 0, max);
        size_t added = 0, mark = 0;
        while (!trace.is_full) {
            mark = added == 3 ? trace_size(&trace) : mark;
            trace_add(&trace, &(struct trace_span){.name = "Relu", .ended_ns = 1});
            added += !trace.is_full;
        }
        size_t full = trace_size(&trace);
        trace_add(&trace, &(struct trace_span){.name = ""});
        CHECK_INT(trace_size(&trace), full);
        AUTO(tree_freep) json_t *tree = written(&trace, full, max);
        CHECK_INT(json_array_size(json_object_get(tree, "traceEvents")), added);
        AUTO(tree_freep) json_t *part = written(&trace, mark, max);
        CHECK_INT(json_array_size(json_object_get(part, "traceEvents")), 3);
        trace_cut(&trace, mark);
        CHECK_INT(trace_size(&trace), mark);
    }
}

static void test_an_empty_one_is_whole(void) {
    AUTO(trace_release) struct trace trace;
    trace_init(&trace, 1, 0, 1024);
    AUTO(tree_freep) json_t *tree = written(&trace, trace_size(&trace), 1024);
    CHECK_INT(json_array_size(json_object_get(tree, "traceEvents")), 0);
}

int main(void) {
    TEST(test_what_is_added_is_there);
    TEST(test_names_are_cut);
    TEST(test_a_full_one_is_whole);
    TEST(test_an_empty_one_is_whole);
    return TEST_END();
}
