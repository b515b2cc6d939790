// SPDX-License-Identifier: Apache-2.0
/* Shape rules: valid sizes, and the messages about invalid ones. */
#include "agent/engine/ops/infer/internal.h"
#include "agent/engine/ops/infer/params.h"
#include "agent/engine/ops/rewrite/expand.h"
#include "tests/conformance/attributes.h"
#include "tests/conformance/network.h"
#include "tests/test.h"

#define HUGE_SIZE ((int64_t)1 << 62)

struct row {
    const char *op;
    int opset;
    struct shape inputs[3]; /* rank -1: not given */
    struct attribute attributes[4];
    int64_t integers[8]; /* the last input, if count > 0 */
    int integer_count;
    const char *wanted; /* the output's shape, or a part of the refusal */
};

/* Rows leave out unneeded fields; -Wextra would warn. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
static const struct row rows[] = {
    {"Conv", 11, {{4, {2, 3, 10, 12}}, {4, {8, 3, 3, 5}}, {-1}}, {{0}}, {0}, 0, "2x8x8x8"},
    {"Conv",
     11,
     {{4, {2, 3, 10, 12}}, {4, {8, 3, 3, 5}}, {-1}},
     {INTS("strides", 2, 3), INTS("pads", 1, 0, 0, 1)},
     {0},
     0,
     "2x8x5x3"},
    {"Conv",
     11,
     {{4, {2, 3, 10, 12}}, {4, {8, 4, 3, 5}}, {-1}},
     {{0}},
     {0},
     0,
     "3 channels; the weights expect 4 in each of 1 groups"},
    {"Conv", 11, {{4, {2, 3, 2, 2}}, {4, {8, 3, 3, 5}}, {-1}}, {{0}}, {0}, 0, "does not fit"},
    {"Conv",
     11,
     {{4, {2, 3, 10, 12}}, {4, {8, 3, 3, 5}}, {-1}},
     {INTS("strides", 0, 1)},
     {0},
     0,
     "\"strides\" has the value 0"},
    {"Conv",
     11,
     {{4, {2, 3, 10, 12}}, {4, {8, 3, 3, 5}}, {-1}},
     {INTS("dilations", HUGE_SIZE, 1)},
     {0},
     0,
     "\"dilations\""},
    {"Conv",
     11,
     {{4, {2, 3, 10, 12}}, {4, {8, 3, 3, 5}}, {-1}},
     {INTS("pads", -1, 0, 0, 0)},
     {0},
     0,
     "\"pads\" has the value -1"},
    {"Conv",
     11,
     {{4, {2, 3, 10, 12}}, {4, {8, 3, 3, 5}}, {-1}},
     {INTS("pads", 1, 1)},
     {0},
     0,
     "has 2 numbers, 4 are expected"},
    {"Conv",
     11,
     {{4, {2, 3, 10, 12}}, {4, {8, 3, 3, 5}}, {-1}},
     {INTS("kernel_shape", 3, 3)},
     {0},
     0,
     "has 3 as number 2, expected 5, as the weights have"},
    {"Conv",
     11,
     {{4, {2, 3, 10, 12}}, {4, {8, 3, 3, 5}}, {-1}},
     {INT("group", -1)},
     {0},
     0,
     "-1 groups"},
    {"ConvTranspose",
     11,
     {{4, {1, 3, 4, 4}}, {4, {3, 2, 3, 3}}, {-1}},
     {INTS("strides", 2, 2)},
     {0},
     0,
     "1x2x9x9"},
    {"ConvTranspose",
     11,
     {{4, {1, 3, 4, 4}}, {4, {3, 2, 3, 3}}, {-1}},
     {INTS("pads", 5, 5, 5, 5)},
     {0},
     0,
     "would have"},
    {"MaxPool",
     11,
     {{4, {1, 3, 7, 7}}, {-1}, {-1}},
     {INTS("kernel_shape", 2, 2), INTS("strides", 2, 2), INT("ceil_mode", 1)},
     {0},
     0,
     "1x3x4x4"},
    {"MaxPool", 11, {{4, {1, 3, 7, 7}}, {-1}, {-1}}, {{0}}, {0}, 0, "\"kernel_shape\" is missing"},
    {"Add", 13, {{3, {2, 1, 4}}, {2, {3, 1}}, {-1}}, {{0}}, {0}, 0, "2x3x4"},
    {"Add", 13, {{3, {2, 1, 4}}, {2, {3, 5}}, {-1}}, {{0}}, {0}, 0, "are incompatible"},
    {"MatMul", 13, {{3, {5, 2, 3}}, {2, {3, 4}}, {-1}}, {{0}}, {0}, 0, "5x2x4"},
    {"MatMul", 13, {{2, {2, 3}}, {2, {4, 3}}, {-1}}, {{0}}, {0}, 0, "matrix shapes 2x3 and 4x3"},
    {"Gemm",
     13,
     {{2, {3, 2}}, {2, {4, 3}}, {1, {4}}},
     {INT("transA", 1), INT("transB", 1)},
     {0},
     0,
     "2x4"},
    {"Gemm", 13, {{2, {2, 3}}, {2, {3, 4}}, {1, {5}}}, {{0}}, {0}, 0, "are incompatible"},
    {"Reshape", 13, {{3, {2, 3, 4}}, {-1}, {-1}}, {{0}}, {0, -1}, 2, "2x12"},
    {"Reshape", 13, {{3, {2, 3, 4}}, {-1}, {-1}}, {{0}}, {5, -1}, 2, "2x3x4 cannot become"},
    {"Reshape", 13, {{3, {2, 3, 4}}, {-1}, {-1}}, {{0}}, {-1, -1}, 2, "-1 in place 1"},
    {"Reshape",
     13,
     {{3, {2, 3, 4}}, {-1}, {-1}},
     {{0}},
     {(int64_t)1 << 40, (int64_t)1 << 40},
     2,
     "too large"},
    {"Expand", 13, {{2, {3, 1}}, {-1}, {-1}}, {{0}}, {2, 1, 4}, 3, "2x3x4"},
    {"Expand",
     13,
     {{2, {1, 1}}, {-1}, {-1}},
     {{0}},
     {(int64_t)1 << 40, (int64_t)1 << 40},
     2,
     "would have the shape"},
    {"Tile", 13, {{2, {3, 2}}, {-1}, {-1}}, {{0}}, {2, 5}, 2, "6x10"},
    {"Tile", 13, {{2, {3, 2}}, {-1}, {-1}}, {{0}}, {(int64_t)1 << 62, 5}, 2, "repeats"},
    {"Slice",
     9,
     {{2, {10, 10}}, {-1}, {-1}},
     {INTS("starts", -3), INTS("ends", INT64_MAX), INTS("axes", 1)},
     {0},
     0,
     "10x3"},
    {"Slice",
     9,
     {{2, {10, 10}}, {-1}, {-1}},
     {INTS("starts", 0), INTS("ends", 1), INTS("axes", 2)},
     {0},
     0,
     "axis 2"},
    {"Transpose", 13, {{3, {2, 3, 4}}, {-1}, {-1}}, {INTS("perm", 2, 0, 1)}, {0}, 0, "4x2x3"},
    {"Transpose",
     13,
     {{3, {2, 3, 4}}, {-1}, {-1}},
     {INTS("perm", 2, 0, 0)},
     {0},
     0,
     "axis 0 is named twice"},
    {"Concat", 13, {{2, {2, 3}}, {2, {2, 5}}, {-1}}, {INT("axis", -1)}, {0}, 0, "2x8"},
    {"Concat",
     13,
     {{2, {2, 3}}, {2, {3, 5}}, {-1}},
     {INT("axis", 1)},
     {0},
     0,
     "differs from input 0"},
    {"Squeeze", 11, {{3, {1, 3, 1}}, {-1}, {-1}}, {INTS("axes", -1)}, {0}, 0, "1x3"},
    {"Squeeze",
     11,
     {{3, {1, 3, 1}}, {-1}, {-1}},
     {INTS("axes", 1)},
     {0},
     0,
     "has the size 3, not 1"},
    {"Unsqueeze", 11, {{1, {3}}, {-1}, {-1}}, {INTS("axes", 0, 2)}, {0}, 0, "1x3x1"},
    {"Flatten", 13, {{3, {2, 3, 4}}, {-1}, {-1}}, {INT("axis", 2)}, {0}, 0, "6x4"},
    {"Pad", 9, {{2, {3, 4}}, {-1}, {-1}}, {INTS("pads", 1, 0, 0, -2)}, {0}, 0, "4x2"},
    {"Pad",
     9,
     {{2, {3, 4}}, {-1}, {-1}},
     {INTS("pads", 3, 0, 0, 0), TXT("mode", "reflect")},
     {0},
     0,
     "mode reflect"},
    {"ReduceMean",
     13,
     {{3, {2, 3, 4}}, {-1}, {-1}},
     {INTS("axes", 1), INT("keepdims", 0)},
     {0},
     0,
     "2x4"},
    {"ReduceMean", 13, {{3, {2, 3, 4}}, {-1}, {-1}}, {INTS("axes", 1, -2)}, {0}, 0, "named twice"},
    {"Split",
     11,
     {{2, {6, 4}}, {-1}, {-1}},
     {INTS("split", 5)},
     {0},
     0,
     "of 5 in all, the input has 6"},
    {"Softmax", 13, {{2, {6, 4}}, {-1}, {-1}}, {INT("axis", 7)}, {0}, 0, "axis 7"},
    {"DepthToSpace",
     13,
     {{4, {1, 12, 2, 3}}, {-1}, {-1}},
     {INT("blocksize", 2)},
     {0},
     0,
     "1x3x4x6"},
    {"DepthToSpace",
     13,
     {{4, {1, 6, 2, 3}}, {-1}, {-1}},
     {INT("blocksize", 0)},
     {0},
     0,
     "\"blocksize\" is 0"},
};

static void run(const struct row *row) {
    struct network network;
    struct error err = {0};
    struct arena known = {0};
    struct fact facts[NETWORK_VALUES] = {0};
    int inputs[8], count = 0;
    char seen[128] = "";
    network_init(&network, row->opset);
    for (int i = 0; i < 3 && row->inputs[i].rank >= 0; i++) {
        inputs[count] = network_input(&network, row->inputs[i]);
        facts[inputs[count++]].shape = row->inputs[i];
    }
    if (row->integer_count) {
        inputs[count++] = network_integers(&network, row->integers, row->integer_count);
    }
    inputs[count] = -2;
    int output = network_node(&network, row->op, inputs, row->attributes);
    if (shape_infer(&network.graph, device_evaluate, &known, facts, &err) == 0) {
        shape_format(&facts[output].shape, seen);
    }
    bool fine = err.kind ? strstr(err.text, row->wanted) != NULL : strcmp(seen, row->wanted) == 0;
    if (!fine || (err.kind && !strstr(err.text, row->op))) {
        printf("# row %td, %s: '%s%s', wanted '%s'\n", row - rows, row->op, seen, err.text,
               row->wanted);
        test_failures++;
    }
    arena_release(&known);
    arena_release(&network.graph.arena);
}

static void test_shape_rules(void) {
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        run(&rows[i]);
    }
}

/* Each operator has at most one row per opset, and one name here, except expanded ones. */
static void test_table_is_sound(void) {
    for (size_t i = 0; op_row(i); i++) {
        const struct op *op = op_row(i);
        CHECK(op->since <= op->until && op->inputs_min <= op->inputs_max && op->types[0]);
        for (size_t k = i + 1; op_row(k); k++) {
            const struct op *other = op_row(k);
            bool same = strcmp(op->name, other->name) == 0;
            CHECK(!same || op->id == other->id || op->infer == infer_expanded);
            CHECK(!same || op->until < other->since || other->until < op->since);
        }
    }
    CHECK(op_find("Conv", 13) != NULL);
    CHECK(op_find("Upsample", 13) == NULL);
    CHECK(op_find("conv", 13) == NULL);
}

/* Where the samples are in what a dropout reads: outer, samples, each. */
static void test_dropout_samples(void) {
    static const struct {
        struct shape x;
        int64_t n, told, outer, samples, each;
    } cases[] = {
        {{2, {6, 5}}, 6, 5, 1, 6, 5},     {{3, {12, 7, 7}}, 6, 98, 1, 6, 98}, /* two heads each */
        {{3, {6, 6, 5}}, 6, 5, 6, 6, 5},                                      /* sequences first */
        {{3, {1, 6, 5}}, 6, 0, 1, 1, 30},                                     /* a parameter */
        {{0, {0}}, 6, 0, 1, 1, 1},        {{2, {0, 5}}, 0, 5, 0, 0, 5},
        {{1, {3}}, 1, 3, 1, 1, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dropout_samples samples;
        const struct attribute each = {
            .name = "each", .kind = ATTRIBUTE_INTEGER, .integer = cases[i].told};
        const struct node node = {.attribute_count = 1, .attributes = &each};
        internal_dropout(&node, &cases[i].x, cases[i].n, &samples);
        CHECK_INT(samples.outer, cases[i].outer);
        CHECK_INT(samples.samples, cases[i].samples);
        CHECK_INT(samples.each, cases[i].each);
    }
}

int main(void) {
    TEST(test_dropout_samples);
    TEST(test_shape_rules);
    TEST(test_table_is_sound);
    return TEST_END();
}
