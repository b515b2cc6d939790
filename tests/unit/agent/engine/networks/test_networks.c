// SPDX-License-Identifier: Apache-2.0
/* Networks have as many parameters as those of PyTorch, the same bits for a seed, and weights
 * within their bounds. That other programs read and run them alike:
 * tests/e2e/engine/test_models.sh. */
#include "agent/engine/model.h"
#include "lib/digest.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>

static struct graph make(enum network_kind kind, struct network_options options) {
    struct error err = {0};
    struct graph graph = {0};
    CHECK_OK(network_new(kind, &options, &graph, &err), &err);
    return graph;
}

static int64_t count_of(const struct graph *graph, bool is_running) {
    int64_t count = 0;
    for (size_t i = 0; i < graph->value_count; i++) {
        const struct value *value = &graph->values[i];
        bool runs = strstr(value->name, ".running_") != NULL;
        count += value->is_constant && runs == is_running ? shape_count(&value->shape) : 0;
    }
    return count;
}

static void test_sizes_are_those_of_others(void) {
    static const struct {
        enum network_kind kind;
        struct network_options options;
        int64_t learned, running;
    } rows[] = {
        {NETWORK_RESNET18, {.classes = 1000, .shape = {3, 224, 224}}, 11689512, 9600},
        {NETWORK_RESNET50, {.classes = 1000, .shape = {3, 224, 224}}, 25557032, 53120},
        /* 3x3x1x16 + 3x3x16x32 + 1568x128 + 128 + 128x10 + 10, and 2 x (16 + 32 + 128) */
        {NETWORK_CNN, {.classes = 10, .shape = {1, 28, 28}}, 207226, 352},
        {NETWORK_CNN, {.classes = 10, .shape = {1, 28, 28}, .is_smooth = true}, 206922, 0},
        {NETWORK_MLP, {.classes = 10, .shape = {1, 28, 28}}, 235146, 0},
        /* small inputs: 3x3 instead of 7x7 */
        {NETWORK_RESNET18, {.classes = 10, .shape = {3, 32, 32}}, 11181642 - 64 * 3 * 40, 9600},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct graph graph = make(rows[i].kind, rows[i].options);
        CHECK_INT(count_of(&graph, false), rows[i].learned);
        CHECK_INT(count_of(&graph, true), rows[i].running);
        graph_release(&graph);
    }
}

static uint32_t digest_of(const struct graph *graph) {
    uint32_t crc = 0;
    for (size_t i = 0; i < graph->value_count; i++) {
        const struct value *value = &graph->values[i];
        crc = digest_crc32c(crc, value->name, strlen(value->name));
        if (value->is_constant) {
            crc = digest_crc32c(crc, value->constant.data,
                                (size_t)shape_count(&value->shape) * sizeof(float));
        }
    }
    return crc;
}

static void test_a_seed_decides_every_bit(void) {
    struct network_options options = {.classes = 10, .shape = {1, 28, 28}, .seed = 3};
    struct graph first = make(NETWORK_CNN, options), again = make(NETWORK_CNN, options);
    options.seed = 4;
    struct graph other = make(NETWORK_CNN, options);
    CHECK_INT(digest_of(&first), digest_of(&again));
    CHECK(digest_of(&first) != digest_of(&other));
    graph_release(&first);
    graph_release(&again);
    graph_release(&other);
}

static void test_weights_are_drawn_as_promised(void) {
    struct network_options options = {.classes = 10, .shape = {3, 64, 64}, .seed = 1};
    struct graph graph = make(NETWORK_RESNET18, options);
    for (size_t i = 0; i < graph.value_count; i++) {
        const struct value *value = &graph.values[i];
        const float *data = value->constant.data;
        int64_t count = value->is_constant ? shape_count(&value->shape) : 0;
        if (count == 0 || value->shape.rank == 1) {
            double wanted = strstr(value->name, "weight") || strstr(value->name, "var") ? 1 : 0;
            for (int64_t k = 0; k < count; k++) {
                CHECK(data[k] == (float)wanted);
            }
            continue;
        }
        double inputs = (double)(count / value->shape.dims[0]), sum = 0, squares = 0, most = 0;
        double bound = sqrt((strcmp(value->name, "fc.weight") == 0 ? 3 : 6) / inputs);
        for (int64_t k = 0; k < count; k++) {
            sum += data[k];
            squares += (double)data[k] * data[k];
            most = MAX(most, fabs((double)data[k]));
        }
        double variance = bound * bound / 3, error = sqrt(variance / (double)count);
        CHECK(fabs(sum / (double)count) < 6 * error);
        CHECK(fabs(squares / (double)count / variance - 1) < 6 / sqrt((double)count));
        CHECK(most <= bound * (1 + 1e-6) && most > 0.99 * bound);
    }
    graph_release(&graph);
}

static void test_what_cannot_be_made_is_refused(void) {
    static const struct {
        enum network_kind kind;
        struct network_options options;
        const char *says;
    } rows[] = {
        {NETWORK_CNN, {.classes = 0, .shape = {1, 28, 28}}, "classes: 1 to 1048576 are expected"},
        {NETWORK_CNN,
         {.classes = 2, .shape = {1, 3, 28}},
         "shape: side: expected 4 to 4096 for CNN"},
        {NETWORK_RESNET18, {.classes = 2, .shape = {1, 7, 28}}, "shape: side: expected 8 to 4096"},
        {NETWORK_MLP, {.classes = 2, .shape = {0, 7, 28}}, "shape: channels: expected 1 to"},
        {NETWORK_MLP, {.classes = 2, .shape = {3, 4096, 4096}}, "shape: MLP takes at most 4194304"},
        {NETWORK_RESNET50, {.classes = 2, .shape = {3, 32, 32}, .is_smooth = true}, "smooth: CNN"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct graph graph;
        CHECK_INT(network_new(rows[i].kind, &rows[i].options, &graph, &err), -1);
        CHECK(strstr(err.text, rows[i].says) || (printf("# %s\n", err.text), 0));
    }
    CHECK_INT(network_kind_find("resnet50"), NETWORK_RESNET50);
    CHECK_INT(network_kind_find("ResNet34"), -1);
    CHECK_INT(network_kind_find("MLP"), NETWORK_MLP);
}

int main(void) {
    TEST(test_sizes_are_those_of_others);
    TEST(test_a_seed_decides_every_bit);
    TEST(test_weights_are_drawn_as_promised);
    TEST(test_what_cannot_be_made_is_refused);
    return TEST_END();
}
