// SPDX-License-Identifier: Apache-2.0
#include "agent/graph/resident.h"

#include <stdlib.h>
#include <unistd.h>

#include "tests/test.h"

enum { COUNT = 1 << 16 };

/* A "file" of numbers at an odd address, and the copy that a reader has made of them. */
static char file[COUNT * 4 + 1];

static void fill(struct graph *graph, struct value *value) {
    float *copy = aligned_alloc(4096, COUNT * 4);
    for (int i = 0; i < COUNT; i++) {
        copy[i] = (float)i + 1;
    }
    memcpy(file + 1, copy, COUNT * 4);
    *value = (struct value){.is_constant = true, .shape = {1, {COUNT}}, .origin = file + 1};
    value->constant = (struct tensor){TENSOR_FLOAT32, value->shape, copy, false};
    *graph = (struct graph){.value_count = 1, .values = value, .lets_go = true};
}

static int count_right(const struct value *value) {
    int right = 0;
    for (int i = 0; i < COUNT; i++) {
        right += ((float *)value->constant.data)[i] == (float)i + 1;
    }
    return right;
}

static void test_what_is_let_go_comes_back(void) {
    struct graph graph;
    struct value value;
    fill(&graph, &value);
    graph_let_go(&graph, 0);
    CHECK_INT(count_right(&value), 0); /* it begins and ends with whole pages */
    CHECK(value.is_gone);
    graph_bring_back(&graph);
    CHECK(!value.is_gone);
    CHECK_INT(count_right(&value), COUNT);
    graph_hold(&graph, 0, value.constant.data);
    graph_let_go(&graph, 0);
    CHECK_INT(count_right(&value), COUNT);
    free(value.constant.data);
}

static void test_views_hold_what_they_show(void) {
    struct graph graph;
    struct value values[2];
    fill(&graph, &values[0]);
    values[1] = (struct value){.name = "made in a run"};
    graph.values = values;
    graph.value_count = 2;
    graph_hold(&graph, 1, values[0].constant.data);
    graph_let_go(&graph, 0);
    CHECK_INT(count_right(&values[0]), COUNT);
    free(values[0].constant.data);
}

static void test_what_may_not_go_stays(void) {
    struct graph graph;
    struct value value;
    fill(&graph, &value);
    graph.lets_go = false;
    graph_let_go(&graph, 0);
    graph.lets_go = true;
    value.origin = NULL;
    graph_let_go(&graph, 0);
    value.origin = file + 1;
    value.shape.dims[0] = RESIDENT_BYTES_MIN / 4 - 1;
    graph_let_go(&graph, 0);
    CHECK_INT(count_right(&value), COUNT);
    free(value.constant.data);
}

int main(void) {
    TEST(test_what_is_let_go_comes_back);
    TEST(test_views_hold_what_they_show);
    TEST(test_what_may_not_go_stays);
    return TEST_END();
}
