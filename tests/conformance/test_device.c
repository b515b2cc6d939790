// SPDX-License-Identifier: Apache-2.0
/* Every device against the reference kernels: operators in many shapes, and the chains that devices
 * fuse. A device that this machine or build lacks is skipped; an operator it lacks is counted. */
#include "agent/engine/ops/types.h"
#include "tests/conformance/draws.h"
#include "tests/conformance/emulation.h"
#include "tests/conformance/network_run.h"
#include "tests/conformance/operators.h"
#include "tests/test.h"

#include <stdio.h>

static double tolerance = 1e-4; /* of the largest element */

/* The first input is fed, the others are constants. */
struct row {
    const char *op;
    struct shape x, others[4];
    struct attribute attributes[5];
    int opset; /* 0 means 13 */
    bool feeds_all;
};

/* Most rows leave the last fields out; -Wextra would warn. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
static const struct row rows[] = {
    {"Conv", {4, {1, 3, 17, 19}}, {{4, {8, 3, 3, 3}}, {1, {8}}}, {{0}}},
    {"Conv", {4, {2, 16, 12, 12}}, {{4, {32, 16, 1, 1}}, {1, {32}}}, {{0}}},
    {"Conv", {4, {2, 16, 13, 12}}, {{4, {24, 16, 1, 1}}}, {INTS("strides", 2, 2)}},
    {"Conv", {4, {1, 32, 20, 20}}, {{4, {32, 32, 3, 3}}, {1, {32}}}, {INTS("pads", 1, 1, 1, 1)}},
    {"Conv", {4, {1, 32, 21, 18}}, {{4, {32, 32, 3, 3}}, {1, {32}}}, {INTS("pads", 1, 0, 2, 1)}},
    {"Conv",
     {4, {1, 8, 16, 16}},
     {{4, {16, 8, 3, 3}}},
     {INTS("pads", 1, 1, 1, 1), INTS("strides", 2, 2)}},
    {"Conv", {4, {1, 3, 32, 40}}, {{4, {32, 3, 9, 9}}, {1, {32}}}, {INTS("pads", 4, 4, 4, 4)}},
    {"Conv", {4, {1, 32, 40, 33}}, {{4, {3, 32, 9, 9}}, {1, {3}}}, {{0}}},
    {"Conv",
     {4, {1, 3, 32, 32}},
     {{4, {64, 3, 7, 7}}, {1, {64}}},
     {INTS("pads", 3, 3, 3, 3), INTS("strides", 2, 2)}},
    {"Conv",
     {4, {2, 24, 15, 15}},
     {{4, {24, 1, 3, 3}}, {1, {24}}},
     {INT("group", 24), INTS("pads", 1, 1, 1, 1)}},
    {"Conv", {4, {1, 24, 15, 15}}, {{4, {24, 1, 5, 5}}}, {INT("group", 24), INTS("strides", 2, 2)}},
    {"Conv", {4, {1, 12, 9, 9}}, {{4, {18, 4, 3, 3}}, {1, {18}}}, {INT("group", 3)}},
    {"Conv", {4, {1, 6, 20, 20}}, {{4, {10, 6, 3, 3}}}, {INTS("dilations", 2, 3)}},
    {"Conv",
     {4, {1, 5, 14, 11}},
     {{4, {7, 5, 4, 4}}},
     {TXT("auto_pad", "SAME_UPPER"), INTS("strides", 3, 2)}},
    {"Conv", {4, {1, 5, 14, 11}}, {{4, {7, 5, 4, 4}}}, {TXT("auto_pad", "SAME_LOWER")}},
    {"Conv", {3, {2, 6, 30}}, {{3, {4, 6, 5}}, {1, {4}}}, {INTS("pads", 2, 2)}},
    {"Conv", {5, {1, 2, 6, 7, 8}}, {{5, {4, 2, 3, 3, 3}}, {1, {4}}}, {{0}}},
    {"ConvTranspose",
     {4, {1, 8, 9, 9}},
     {{4, {8, 4, 3, 3}}, {1, {4}}},
     {INTS("strides", 2, 2), INTS("pads", 1, 1, 1, 1), INTS("output_padding", 1, 1)}},
    {"ConvTranspose",
     {4, {2, 6, 5, 7}},
     {{4, {6, 3, 4, 4}}},
     {INT("group", 2), INTS("strides", 2, 1)}},
    {"ConvTranspose",
     {4, {1, 64, 21, 19}},
     {{4, {64, 32, 4, 4}}, {1, {32}}},
     {INTS("strides", 2, 2), INTS("pads", 1, 1, 1, 1)}},
    {"ConvTranspose",
     {4, {3, 10, 7, 6}},
     {{4, {10, 7, 3, 2}}, {1, {14}}},
     {INT("group", 2), INTS("strides", 3, 2), INTS("pads", 0, 1, 2, 0),
      INTS("output_padding", 2, 1)}},
    {"ConvTranspose",
     {4, {1, 17, 9, 8}},
     {{4, {17, 19, 3, 3}}},
     {INTS("dilations", 2, 3), INTS("pads", 2, 1, 0, 3)}},
    {"ConvTranspose",
     {4, {1, 8, 6, 5}},
     {{4, {8, 5, 3, 5}}},
     {INTS("strides", 2, 3), INTS("output_shape", 13, 14)}},
    {"ConvTranspose", {3, {2, 12, 31}}, {{3, {12, 9, 4}}, {1, {9}}}, {INTS("strides", 2)}},
    {"ConvTranspose",
     {5, {1, 16, 3, 5, 4}},
     {{5, {16, 6, 2, 3, 3}}, {1, {6}}},
     {INTS("strides", 2, 1, 2)}},
    {"Conv",
     {4, {1, 64, 61, 59}},
     {{4, {64, 16, 3, 3}}, {1, {64}}},
     {INT("group", 4), INTS("pads", 1, 1, 1, 1)}},
    {"Conv",
     {4, {2, 30, 14, 13}},
     {{4, {20, 6, 3, 2}}, {1, {20}}},
     {INT("group", 5), INTS("strides", 2, 3), INTS("pads", 2, 0, 1, 1)}},
    {"Conv",
     {4, {1, 32, 12, 15}},
     {{4, {48, 16, 3, 3}}},
     {INT("group", 2), INTS("dilations", 2, 3), INTS("pads", 2, 3, 2, 3)}},
    {"Conv", {4, {1, 6, 9, 7}}, {{4, {12, 1, 3, 3}}, {1, {12}}}, {INT("group", 6)}},
    {"Conv", {4, {1, 5, 6, 7}}, {{4, {10, 5, 2, 3}}, {1, {10}}}, {INTS("pads", 4, 5, 4, 5)}},
    {"Conv",
     {3, {3, 16, 301}},
     {{3, {24, 8, 7}}, {1, {24}}},
     {INT("group", 2), INTS("strides", 2), INTS("dilations", 3), INTS("pads", 9, 8)}},
    {"Conv",
     {5, {1, 16, 7, 18, 17}},
     {{5, {32, 16, 3, 3, 3}}, {1, {32}}},
     {INTS("strides", 1, 2, 2), INTS("pads", 1, 1, 0, 1, 0, 1)}},
    {"MaxPool",
     {4, {1, 16, 20, 21}},
     {{0}},
     {INTS("kernel_shape", 3, 3), INTS("strides", 2, 2), INTS("pads", 1, 1, 1, 1)}},
    {"MaxPool",
     {4, {1, 3, 13, 13}},
     {{0}},
     {INTS("kernel_shape", 3, 3), INTS("strides", 2, 2), INT("ceil_mode", 1)}},
    {"AveragePool",
     {4, {1, 16, 14, 14}},
     {{0}},
     {INTS("kernel_shape", 2, 2), INTS("strides", 2, 2)}},
    {"AveragePool",
     {4, {1, 3, 14, 15}},
     {{0}},
     {INTS("kernel_shape", 3, 3), INTS("pads", 1, 1, 1, 1), INT("count_include_pad", 1)}},
    {"AveragePool",
     {4, {1, 3, 14, 15}},
     {{0}},
     {INTS("kernel_shape", 3, 3), INTS("pads", 1, 1, 1, 1)}},
    {"GlobalAveragePool", {4, {2, 20, 7, 7}}, {{0}}, {{0}}},
    {"GlobalMaxPool", {4, {2, 20, 7, 7}}, {{0}}, {{0}}},
    {"InstanceNormalization",
     {4, {2, 16, 15, 17}},
     {{1, {16}}, {1, {16}}},
     {NUM("epsilon", 1e-5f)}},
    {"BatchNormalization", {4, {2, 16, 9, 9}}, {{1, {16}}, {1, {16}}, {1, {16}}, {1, {16}}}, {{0}}},
    {"LRN", {4, {1, 12, 6, 6}}, {{0}}, {INT("size", 5)}},
    {"Gemm", {2, {5, 64}}, {{2, {10, 64}}, {1, {10}}}, {INT("transB", 1)}},
    {"Gemm",
     {2, {64, 5}},
     {{2, {64, 33}}, {2, {5, 1}}},
     {INT("transA", 1), NUM("alpha", 0.5f), NUM("beta", 2)}},
    {"LRN",
     {4, {2, 32, 13, 11}},
     {{0}},
     {INT("size", 3), NUM("alpha", 0.3f), NUM("beta", 0.75f), NUM("bias", 2)}},
    {"LRN", {4, {1, 7, 5, 9}}, {{0}}, {INT("size", 4), NUM("alpha", 0.5f), NUM("beta", 0.6f)}},
    {"LRN", {3, {2, 48, 35}}, {{0}}, {INT("size", 7), NUM("alpha", 0.7f), NUM("beta", 0.5f)}},
    {"Gemm", {2, {33, 70}}, {{2, {70, 29}}, {1, {29}}}, {{0}}, 0, true},
    {"Gemm",
     {2, {70, 33}},
     {{2, {29, 70}}, {2, {1, 29}}},
     {INT("transA", 1), INT("transB", 1)},
     0,
     true},
    {"Gemm", {2, {33, 70}}, {{2, {70, 29}}, {2, {33, 1}}}, {NUM("alpha", 2)}, 0, true},
    {"Gemm", {2, {1, 512}}, {{2, {512, 100}}, {1, {100}}}, {{0}}},
    {"MatMul", {2, {17, 40}}, {{2, {40, 23}}}, {{0}}},
    {"MatMul", {4, {2, 3, 8, 9}}, {{3, {3, 9, 4}}}, {{0}}},
    {"MatMul", {1, {9}}, {{2, {9, 4}}}, {{0}}},
    {"MatMul", {3, {5, 67, 129}}, {{3, {5, 129, 70}}}, {{0}}, 0, true},
    {"MatMul", {4, {2, 1, 17, 33}}, {{3, {3, 33, 19}}}, {{0}}, 0, true},
    {"MatMul", {2, {31, 40}}, {{4, {2, 3, 40, 5}}}, {{0}}, 0, true},
    {"MatMul", {3, {4, 6, 50}}, {{1, {50}}}, {{0}}, 0, true},
    {"MatMul", {1, {50}}, {{3, {4, 50, 6}}}, {{0}}, 0, true},
    {"Relu", {4, {1, 7, 9, 11}}, {{0}}, {{0}}},
    {"LeakyRelu", {4, {1, 7, 9, 11}}, {{0}}, {NUM("alpha", 0.2f)}},
    {"PRelu", {4, {1, 7, 9, 11}}, {{3, {7, 1, 1}}}, {{0}}},
    {"Elu", {2, {33, 5}}, {{0}}, {{0}}},
    {"Sigmoid", {3, {3, 33, 5}}, {{0}}, {{0}}},
    {"Tanh", {3, {3, 33, 5}}, {{0}}, {{0}}},
    {"HardSigmoid", {3, {3, 33, 5}}, {{0}}, {{0}}},
    {"HardSwish", {3, {3, 33, 5}}, {{0}}, {{0}}, 14, false},
    {"Clip", {3, {3, 33, 5}}, {{0}}, {NUM("min", -0.25f), NUM("max", 0.5f)}, 10, false},
    {"Add", {4, {2, 8, 5, 6}}, {{4, {2, 8, 5, 6}}}, {{0}}, 0, true},
    {"Add", {4, {2, 8, 5, 6}}, {{3, {8, 1, 1}}}, {{0}}},
    {"Sub", {2, {1, 6}}, {{2, {5, 1}}}, {{0}}, 0, true},
    {"Mul", {4, {2, 8, 5, 6}}, {{4, {2, 8, 1, 1}}}, {{0}}, 0, true},
    {"Div", {3, {4, 5, 6}}, {{0, {0}}}, {{0}}},
    {"Softmax", {2, {4, 1000}}, {{0}}, {{0}}},
    {"Softmax", {3, {7, 19, 333}}, {{0}}, {INT("axis", -1)}},
    {"LogSoftmax", {2, {37, 517}}, {{0}}, {INT("axis", 1)}},
    {"Softmax", {4, {2, 3, 4, 5}}, {{0}}, {INT("axis", 1)}},
    {"LogSoftmax", {3, {2, 3, 4}}, {{0}}, {INT("axis", 1)}, 11, false},
    {"Transpose", {4, {2, 3, 4, 5}}, {{0}}, {INTS("perm", 0, 2, 3, 1)}},
    {"Concat", {4, {1, 3, 4, 5}}, {{4, {1, 6, 4, 5}}}, {INT("axis", 1)}, 0, true},
    {"Flatten", {4, {2, 3, 4, 5}}, {{0}}, {{0}}},
    {"ReduceMean", {4, {2, 3, 4, 5}}, {{0}}, {INTS("axes", 2, 3)}},
    {"ReduceMax", {4, {2, 3, 4, 5}}, {{0}}, {INTS("axes", 1), INT("keepdims", 0)}},
    {"Pad",
     {4, {1, 3, 9, 8}},
     {{0}},
     {INTS("pads", 0, 0, 2, 3, 0, 0, 4, 1), TXT("mode", "reflect")},
     9,
     false},
    {"Pad",
     {4, {1, 3, 9, 8}},
     {{0}},
     {INTS("pads", 0, 0, 2, 3, 0, 0, -1, 1), TXT("mode", "edge")},
     9,
     false},
    {"Pad",
     {4, {1, 3, 9, 8}},
     {{0}},
     {INTS("pads", 0, 1, 2, 3, 0, 0, 4, 1), NUM("value", 0.5f)},
     9,
     false},
    {"Upsample",
     {4, {1, 5, 6, 7}},
     {{0}},
     {{.name = "scales",
       .kind = ATTRIBUTE_NUMBERS,
       .count = 4,
       .numbers = (const float[]){1, 1, 2, 2}}},
     8,
     false},
    {"Upsample",
     {4, {1, 5, 6, 7}},
     {{0}},
     {{.name = "scales",
       .kind = ATTRIBUTE_NUMBERS,
       .count = 4,
       .numbers = (const float[]){1, 1, 2, 3}},
      TXT("mode", "linear")},
     8,
     false},
    {"DepthToSpace", {4, {1, 8, 4, 5}}, {{0}}, {INT("blocksize", 2)}},
};

static const struct operator_row operator_rows[] = {
#include "tests/conformance/operator_rows.inc"
};

static struct device *open_device(const char *name, struct error *err) {
    struct device *device = NULL;
    return device_open(name, 2, &device, err) < 0 ? NULL : device;
}

static bool tensor_differs(const struct tensor *a, const struct tensor *b, int64_t index) {
    return tensor_whole(a, index) != tensor_whole(b, index);
}

/* True when both agree; prints the first difference. */
static bool agrees(const struct tensor *seen, const struct tensor *wanted, const char *what) {
    if (seen->type != wanted->type || !shape_equal(&seen->shape, &wanted->shape)) {
        printf("# %s: another shape or type\n", what);
        return false;
    }
    bool is_real = tensor_type_is_real(seen->type);
    int64_t count = shape_count(&seen->shape);
    double most = 1e-6;
    for (int64_t i = 0; i < count; i++) {
        double number = fabs(tensor_number(wanted, i));
        most = isfinite(number) ? fmax(most, number) : most;
    }
    for (int64_t i = 0; i < count; i++) {
        double a = tensor_number(seen, i), b = tensor_number(wanted, i);
        bool is_same =
            is_real ? a == b || (isnan(a) && isnan(b)) : !tensor_differs(seen, wanted, i);
        if (!is_same && !(is_real && fabs(a - b) <= tolerance * most)) {
            printf("# %s: element %lld of %lld is %g, the reference has %g\n", what, (long long)i,
                   (long long)count, a, b);
            return false;
        }
    }
    return true;
}

static void compare(struct network *network, const char *device_name, const char *what) {
    struct error err = {0};
    struct device *device = open_device(device_name, &err);
    struct device *reference = open_device("reference", &err);
    /* On the emulated GPU the second seed is the soak's. */
    uint64_t seeds = draws_number("DEVICE_SEEDS", is_emulated() && !getenv("SOAK_ROUNDS") ? 1 : 2);
    for (uint32_t seed = 1; device && reference && seed <= seeds; seed++) {
        struct tensor seen = {0}, wanted = {0};
        CHECK_OK(network_run(network, reference, seed, &wanted, &err), &err);
        if (err.kind || network_run(network, device, seed, &seen, &err) < 0) {
            if (err.kind != ERROR_UNSUPPORTED || strcmp(device_name, "cpu") == 0) {
                printf("# %s: %s\n", what, err.text);
                test_failures++;
            }
        } else if (!agrees(&seen, &wanted, what)) {
            test_failures++;
        }
        tensor_release(&seen);
        tensor_release(&wanted);
    }
    device_close(device);
    device_close(reference);
}

static void run_row(const struct row *row, const char *device) {
    struct network network;
    char what[192], text[128];
    network_init(&network, row->opset ? row->opset : 13);
    int inputs[8] = {network_input(&network, row->x)}, count = 1;
    /* A scalar among the others has rank 0 and is marked by a second operand being needed. */
    const struct op *op = op_find(row->op, network.opset);
    for (int i = 0; i < 4 && (row->others[i].rank || count < op->inputs_min); i++) {
        bool is_variance = strcmp(row->op, "BatchNormalization") == 0 && i == 3;
        float shift = is_variance || strcmp(row->op, "Div") == 0 ? 1.5f : 0;
        inputs[count++] = row->feeds_all ? network_input(&network, row->others[i])
                                         : network_constant(&network, row->others[i], 0.5f, shift);
    }
    inputs[count] = -2;
    network_output(&network, network_node(&network, row->op, inputs, row->attributes));
    shape_format(&row->x, text);
    snprintf(what, sizeof what, "%s row %td, %s on %s", row->op, row - rows, text, device);
    compare(&network, device, what);
    arena_release(&network.graph.arena);
}

/* Each output alone: the others have no reader. */
static void run_operator(const struct operator_row *row, const char *device) {
    char what[192];
    for (int output = 0; output < row->outputs; output++) {
        struct network network;
        network_of_operator(&network, row, output, TENSOR_FLOAT32);
        snprintf(what, sizeof what, "%s operator row %td, output %d on %s", row->op,
                 row - operator_rows, output, device);
        compare(&network, device, what);
        arena_release(&network.graph.arena);
    }
}

static int conv(struct network *network, int x, int64_t m, int64_t c, int64_t k, int64_t pad) {
    int w = network_constant(network, (struct shape){4, {m, c, k, k}}, 0.3f, 0);
    int bias = network_constant(network, (struct shape){1, {m}}, 0.5f, 0);
    const struct attribute pads[] = {INTS("pads", pad, pad, pad, pad), {0}};
    return network_node(network, "Conv", (int[]){x, w, bias, -2}, pads);
}

static int norm(struct network *network, int x, int64_t c) {
    int scale = network_constant(network, (struct shape){1, {c}}, 0.5f, 1);
    int bias = network_constant(network, (struct shape){1, {c}}, 0.5f, 0);
    return network_node(network, "InstanceNormalization", (int[]){x, scale, bias, -2}, NULL);
}

static int batch_norm(struct network *network, int x, int64_t c) {
    struct shape shape = {1, {c}};
    int scale = network_constant(network, shape, 0.5f, 1);
    int bias = network_constant(network, shape, 0.5f, 0);
    int mean = network_constant(network, shape, 0.1f, 0);
    int variance = network_constant(network, shape, 0.4f, 1);
    return network_node(network, "BatchNormalization", (int[]){x, scale, bias, mean, variance, -2},
                        NULL);
}

static int relu(struct network *network, int x) {
    return network_node(network, "Relu", (int[]){x, -2}, NULL);
}

static int reflect_pad(struct network *network, int x, int64_t by) {
    const struct attribute mode[] = {TXT("mode", "reflect"), {0}};
    int pads = network_integers(network, (int64_t[]){0, 0, by, by, 0, 0, by, by}, 8);
    return network_node(network, "Pad", (int[]){x, pads, -2}, mode);
}

/* The shapes of a style network: pads, norms, a residual block, upsampling, thin ends. */
static void style_network(struct network *network) {
    int x = network_input(network, (struct shape){4, {2, 3, 20, 24}});
    x = relu(network, norm(network, conv(network, reflect_pad(network, x, 4), 16, 3, 9, 0), 16));
    int y = conv(network, reflect_pad(network, x, 1), 16, 16, 3, 0);
    y = relu(network, norm(network, y, 16));
    y = norm(network, conv(network, reflect_pad(network, y, 1), 16, 16, 3, 0), 16);
    x = network_node(network, "Add", (int[]){x, y, -2}, NULL);
    int scales = network_constant(network, (struct shape){1, {4}}, 0, 1);
    float *numbers = network->values[scales].constant.data;
    numbers[2] = numbers[3] = 2;
    const struct attribute modes[] = {TXT("mode", "nearest"),
                                      TXT("nearest_mode", "floor"),
                                      TXT("coordinate_transformation_mode", "asymmetric"),
                                      {0}};
    x = network_node(network, "Resize", (int[]){x, -1, scales, -2}, modes);
    x = relu(network, norm(network, conv(network, reflect_pad(network, x, 1), 8, 16, 3, 0), 8));
    network_output(network, conv(network, reflect_pad(network, x, 4), 3, 8, 9, 0));
}

/* A residual network's: the shortcut is made after the main path, or is the input itself. */
static void residual_network(struct network *network) {
    int x = network_input(network, (struct shape){4, {1, 16, 14, 14}});
    int y = relu(network, batch_norm(network, conv(network, x, 16, 16, 3, 1), 16));
    y = batch_norm(network, conv(network, y, 32, 16, 3, 1), 32);
    int shortcut = batch_norm(network, conv(network, x, 32, 16, 1, 0), 32);
    x = relu(network, network_node(network, "Add", (int[]){y, shortcut, -2}, NULL));
    y = relu(network, conv(network, x, 32, 32, 3, 1));
    y = conv(network, y, 32, 32, 3, 1);
    x = relu(network, network_node(network, "Add", (int[]){x, y, -2}, NULL));
    x = network_node(network, "GlobalAveragePool", (int[]){x, -2}, NULL);
    x = network_node(network, "Flatten", (int[]){x, -2}, NULL);
    int w = network_constant(network, (struct shape){2, {32, 10}}, 0.5f, 0);
    x = network_node(network, "Gemm", (int[]){x, w, -2}, NULL);
    network_output(network, network_node(network, "Softmax", (int[]){x, -2}, NULL));
}

/* These must not be fused: a value with two users, a value that is an output, a view of one. */
static void shared_values(struct network *network) {
    int x = network_input(network, (struct shape){4, {1, 8, 10, 10}});
    int y = conv(network, x, 8, 8, 3, 1);
    int z = relu(network, y);
    int sum = network_node(network, "Add", (int[]){y, z, -2}, NULL);
    int twice = network_node(network, "Add", (int[]){sum, sum, -2}, NULL);
    int kept = conv(network, twice, 8, 8, 1, 0);
    int flat = network_node(network, "Flatten", (int[]){kept, -2}, NULL);
    int w = network_constant(network, (struct shape){2, {800, 8}}, 0.1f, 0);
    int small = network_node(network, "MatMul", (int[]){flat, w, -2}, NULL);
    network_output(network, small);
    network_output(network, kept);
    network_output(network, relu(network, kept));
    network_output(network, y);
}

static void run_network(void (*build)(struct network *), const char *name, const char *device) {
    struct network network;
    char what[128];
    network_init(&network, 13);
    build(&network);
    snprintf(what, sizeof what, "%s on %s", name, device);
    compare(&network, device, what);
    arena_release(&network.graph.arena);
}

/* On the emulated GPU a sixth of the rows, each day another one; a soak runs all. */
static bool is_taken(size_t at, size_t count) {
    return test_samples(at, count, is_emulated() ? 6 : 1, test_day());
}

static void run_suite(const char *device_name, bool has_operators) {
    struct error err = {0};
    struct device *device = open_device(device_name, &err);
    if (!device) {
        SKIP("%.200s", err.text);
    }
    device_close(device);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (is_taken(i, ARRAY_LEN(rows))) {
            run_row(&rows[i], device_name);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(operator_rows) && has_operators; i++) {
        if (is_taken(i, ARRAY_LEN(operator_rows))) {
            run_operator(&operator_rows[i], device_name);
        }
    }
    run_network(style_network, "style network", device_name);
    run_network(residual_network, "residual network", device_name);
    run_network(shared_values, "shared values", device_name);
}

static bool has_row(const char *op) {
    bool has = false;
    for (size_t i = 0; i < ARRAY_LEN(rows) && !has; i++) {
        has = strcmp(rows[i].op, op) == 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(operator_rows) && !has; i++) {
        has = strcmp(operator_rows[i].op, op) == 0;
    }
    return has;
}

/* The output types that widen.c uses (types.h) are those that the shape rules find. */
static void test_types_are_known_before_shapes(void) {
    for (size_t i = 0; i < ARRAY_LEN(operator_rows); i++) {
        const struct operator_row *row = &operator_rows[i];
        struct network network;
        struct error err = {0};
        network_of_operator(&network, row, 0, TENSOR_FLOAT32);
        const struct node *node = &network.nodes[0];
        struct fact facts[OPERANDS_MAX], outputs[NETWORK_PORTS] = {0};
        const struct fact *inputs[OPERANDS_MAX] = {0};
        enum tensor_type types[OPERANDS_MAX] = {0};
        for (int k = 0; k < node->input_count; k++) {
            const struct value *value = &network.values[MAX(node->inputs[k], 0)];
            facts[k] = (struct fact){value->type, value->shape, value->constant.data};
            inputs[k] = node->inputs[k] < 0 ? NULL : &facts[k];
            types[k] = value->type;
        }
        for (int k = 0; k < node->output_count; k++) {
            outputs[k].type = node->input_count ? types[0] : TENSOR_FLOAT32;
        }
        if (node->op->infer(node, inputs, outputs, &err) == 0) { /* not for expanded ones */
            for (int k = 0; k < node->output_count; k++) {
                enum tensor_type type;
                CHECK_OK(types_output(node, types, k, &type, &err), &err);
                CHECK_INT(type, outputs[k].type);
            }
        }
        arena_release(&network.graph.arena);
    }
}

/* Internal operators are tested by test_gradient.c and test_training.c. */
static void test_every_operator_has_a_row(void) {
    const struct op *op;
    for (size_t i = 0; (op = op_row(i)); i++) {
        bool is_late = op->flags & OP_LATE; /* test_stages.c, tests/e2e/engine/flow.py */
        if (op->until && !is_late && !has_row(op->name)) {
            printf("# %s: no row here\n", op->name);
            test_failures++;
        }
    }
    for (size_t i = 0; (op = ml_table_row(i)); i++) {
        if (!has_row(op->name)) {
            printf("# %s of ai.onnx.ml: no row here\n", op->name);
            test_failures++;
        }
    }
}

static void test_cpu_agrees_with_reference(void) {
    run_suite("cpu", true);
}

static void test_cuda_agrees_with_reference(void) {
    run_suite("cuda", true);
}

/* Several roundings to 8 and 11 bits in a row: a real error would be far larger. (Most other
 * operators have the same kernels as before.) */
static void test_cuda_agrees_in_two_bytes(void) {
    double before = tolerance;
    tolerance = 4e-2;
    run_suite("cuda:bfloat16", false);
    tolerance = 6e-3;
    run_suite("cuda:float16", false);
    tolerance = before;
}

int main(void) {
    TEST(test_every_operator_has_a_row);
    TEST(test_types_are_known_before_shapes);
    if (!is_emulated()) { /* (the same code) */
        TEST(test_cpu_agrees_with_reference);
    }
    TEST(test_cuda_agrees_with_reference);
    TEST(test_cuda_agrees_in_two_bytes);
    return TEST_END();
}
