// SPDX-License-Identifier: Apache-2.0
// Fused steps, blocked layouts and pending work of the CPU device, against the plain kernels: every
// network at odd sizes, in every instruction set of this processor, with one thread and with three.
#include "agent/engine/device/cpu/fast/steps.h"
#include "agent/engine/device/cpu/isa.h"
#include "tests/conformance/attributes.h"
#include "tests/conformance/network_run.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <fnmatch.h>

#define ATTRIBUTES(...) ((const struct attribute[]){__VA_ARGS__, {.name = NULL}})

struct size {
    int n, h, w;
};

typedef void build_function(struct network *net, struct size size);

static int picture(struct network *net, struct size size, int channels) {
    return network_input(net, (struct shape){4, {size.n, channels, size.h, size.w}});
}

static int op(struct network *net, const char *name, int x) {
    return network_node(net, name, (int[]){x, -2}, NULL);
}

static int add(struct network *net, int a, int b) {
    return network_node(net, "Add", (int[]){a, b, -2}, NULL);
}

struct layer {
    int outs, ins, kernel, stride, pad;
};

static int conv(struct network *net, int x, struct layer l) {
    const struct shape shape = {4, {l.outs, l.ins, l.kernel, l.kernel}};
    float scale = 1.0F / sqrtf((float)(l.ins * l.kernel * l.kernel));
    int w = network_constant(net, shape, 2 * scale, 0);
    int bias = network_constant(net, (struct shape){1, {l.outs}}, 0.5F, 0);
    return network_node(
        net, "Conv", (int[]){x, w, bias, -2},
        ATTRIBUTES(INTS("pads", l.pad, l.pad, l.pad, l.pad), INTS("strides", l.stride, l.stride)));
}

static int norm(struct network *net, int x, int channels) {
    int scale = network_constant(net, (struct shape){1, {channels}}, 0.5F, 1);
    int bias = network_constant(net, (struct shape){1, {channels}}, 0.5F, 0);
    return network_node(net, "InstanceNormalization", (int[]){x, scale, bias, -2}, NULL);
}

static int batch_norm(struct network *net, int x, int channels) {
    const struct shape shape = {1, {channels}};
    int scale = network_constant(net, shape, 0.5F, 1), bias = network_constant(net, shape, 0.5F, 0);
    int mean = network_constant(net, shape, 0.2F, 0), var = network_constant(net, shape, 0.4F, 1);
    return network_node(net, "BatchNormalization", (int[]){x, scale, bias, mean, var, -2}, NULL);
}

static int pad(struct network *net, int x, int by, const char *mode, float value) {
    int pads = network_integers(net, (int64_t[]){0, 0, by, by, 0, 0, by, by}, 8);
    int filler = network_constant(net, (struct shape){0, {0}}, 0, value);
    return network_node(net, "Pad", (int[]){x, pads, filler, -2}, ATTRIBUTES(TXT("mode", mode)));
}

static int doubled(struct network *net, int x) {
    int scales = network_constant(net, (struct shape){1, {4}}, 0, 1);
    float *numbers = net->values[scales].constant.data;
    numbers[2] = numbers[3] = 2;
    return network_node(net, "Resize", (int[]){x, -1, scales, -2},
                        ATTRIBUTES(TXT("mode", "nearest"), TXT("nearest_mode", "floor"),
                                   TXT("coordinate_transformation_mode", "asymmetric")));
}

static void strided_style(struct network *net, struct size size) {
    int x = picture(net, size, 3);
    x = op(net, "Relu",
           norm(net, conv(net, pad(net, x, 4, "reflect", 0), (struct layer){20, 3, 9, 1, 0}), 20));
    x = op(net, "Relu",
           norm(net, conv(net, pad(net, x, 1, "reflect", 0), (struct layer){36, 20, 3, 2, 0}), 36));
    int y =
        op(net, "Relu",
           norm(net, conv(net, pad(net, x, 1, "edge", 0), (struct layer){36, 36, 3, 1, 0}), 36));
    x = add(net,
            norm(net, conv(net, pad(net, y, 1, "reflect", 0), (struct layer){36, 36, 3, 1, 0}), 36),
            x);
    x = conv(net, pad(net, doubled(net, x), 1, "reflect", 0), (struct layer){16, 36, 3, 1, 0});
    x = op(net, "Relu", norm(net, x, 16));
    network_output(net, conv(net, pad(net, x, 4, "reflect", 0), (struct layer){3, 16, 9, 1, 0}));
}

static void doubled_without_pad(struct network *net, struct size size) {
    int x = conv(net, picture(net, size, 3), (struct layer){16, 3, 1, 1, 0});
    network_output(net, conv(net, doubled(net, x), (struct layer){24, 16, 3, 1, 1}));
}

static void norm_is_output(struct network *net, struct size size) {
    int x = norm(net, conv(net, picture(net, size, 5), (struct layer){19, 5, 3, 1, 1}), 19);
    network_output(net, x);
}

static void norm_of_few(struct network *net, struct size size) {
    int x = op(net, "Relu",
               norm(net, conv(net, picture(net, size, 20), (struct layer){3, 20, 3, 1, 1}), 3));
    network_output(net, conv(net, x, (struct layer){18, 3, 3, 1, 1}));
}

static void norm_then_pool(struct network *net, struct size size) {
    int x = op(net, "Relu",
               norm(net, conv(net, picture(net, size, 3), (struct layer){17, 3, 3, 1, 1}), 17));
    x = network_node(
        net, "MaxPool", (int[]){x, -2},
        ATTRIBUTES(INTS("kernel_shape", 3, 3), INTS("pads", 1, 1, 1, 1), INTS("strides", 2, 2)));
    network_output(net, conv(net, x, (struct layer){8, 17, 1, 1, 0}));
}

// The last windows extend beyond the picture, and beyond its padding.
static void pool_rounds_up(struct network *net, struct size size) {
    int x = conv(net, picture(net, size, 3), (struct layer){17, 3, 3, 1, 1});
    int y = network_node(net, "MaxPool", (int[]){x, -2},
                         ATTRIBUTES(INTS("kernel_shape", 2, 3), INTS("pads", 1, 0, 1, 0),
                                    INTS("strides", 3, 2), INT("ceil_mode", 1)));
    network_output(net, conv(net, y, (struct layer){8, 17, 1, 1, 0}));
    network_output(net, x);
}

static void norm_for_two(struct network *net, struct size size) {
    int x = norm(net, conv(net, picture(net, size, 3), (struct layer){17, 3, 3, 1, 1}), 17);
    int y = conv(net, x, (struct layer){17, 17, 3, 1, 1}), z = op(net, "Sigmoid", x);
    network_output(net, add(net, y, z));
}

static void residuals(struct network *net, struct size size) {
    int x =
        op(net, "Relu",
           batch_norm(net, conv(net, picture(net, size, 3), (struct layer){33, 3, 7, 2, 3}), 33));
    int y = op(net, "Relu", batch_norm(net, conv(net, x, (struct layer){16, 33, 1, 1, 0}), 16));
    y = op(net, "Relu", batch_norm(net, conv(net, y, (struct layer){16, 16, 3, 1, 1}), 16));
    y = batch_norm(net, conv(net, y, (struct layer){33, 16, 1, 1, 0}), 33);
    x = op(net, "Relu", add(net, y, x));
    int shortcut = batch_norm(net, conv(net, x, (struct layer){40, 33, 1, 2, 0}), 40);
    y = batch_norm(net,
                   conv(net, op(net, "Relu", conv(net, x, (struct layer){40, 33, 3, 2, 1})),
                        (struct layer){40, 40, 1, 1, 0}),
                   40);
    x = op(net, "Relu", add(net, shortcut, y));
    x = op(net, "Flatten", op(net, "GlobalAveragePool", x));
    int w = network_constant(net, (struct shape){2, {10, 40}}, 0.5F, 0);
    int bias = network_constant(net, (struct shape){1, {10}}, 0.5F, 0);
    network_output(net,
                   network_node(net, "Gemm", (int[]){x, w, bias, -2},
                                ATTRIBUTES(INT("transB", 1), NUM("alpha", 0.5F), NUM("beta", 3))));
}

static void residual_of_input(struct network *net, struct size size) {
    int x = picture(net, size, 18);
    int y = op(net, "Relu", add(net, x, conv(net, x, (struct layer){18, 18, 3, 1, 1})));
    network_output(net, add(net, op(net, "Tanh", y), y));
}

static void clipped(struct network *net, struct size size) {
    int low = network_constant(net, (struct shape){0, {0}}, 0, -0.25F);
    int high = network_constant(net, (struct shape){0, {0}}, 0, 0.5F);
    int x = conv(net, picture(net, size, 3), (struct layer){32, 3, 3, 1, 1});
    x = network_node(net, "Clip", (int[]){x, low, high, -2}, NULL);
    int y = network_node(net, "Clip",
                         (int[]){conv(net, x, (struct layer){3, 32, 3, 1, 1}), -1, high, -2}, NULL);
    network_output(net, network_node(net, "Clip", (int[]){y, low, -2}, NULL));
}

static void relu_of_input(struct network *net, struct size size) {
    int x = op(net, "Relu", picture(net, size, 19));
    network_output(net, conv(net, x, (struct layer){16, 19, 3, 1, 1}));
}

static void pads_that_stay(struct network *net, struct size size) {
    int x = conv(net, picture(net, size, 3), (struct layer){16, 3, 3, 1, 1});
    int y = pad(net, x, 2, "constant", 0.5F);
    int z = conv(net, pad(net, y, 1, "constant", 0), (struct layer){16, 16, 3, 1, 0});
    int both = pad(net, x, 1, "reflect", 0);
    int a = conv(net, both, (struct layer){16, 16, 3, 1, 1}),
        b = conv(net, both, (struct layer){16, 16, 3, 1, 1});
    network_output(net, add(net, a, b));
    network_output(net, z);
}

static void joined(struct network *net, struct size size) {
    int x = conv(net, picture(net, size, 3), (struct layer){16, 3, 3, 1, 1});
    int a = op(net, "Relu", conv(net, x, (struct layer){16, 16, 1, 1, 0}));
    int b = op(net, "Relu", conv(net, x, (struct layer){24, 16, 3, 1, 1}));
    x = network_node(net, "Concat", (int[]){a, b, -2}, ATTRIBUTES(INT("axis", 1)));
    network_output(net, conv(net, x, (struct layer){16, 40, 3, 1, 1}));
}

// As in SqueezeNet: 16, 8 or 4 channels per block, and operands that fill their blocks or do not.
static void fire(struct network *net, struct size size) {
    int x = op(net, "Relu", conv(net, picture(net, size, 3), (struct layer){16, 3, 3, 1, 1}));
    int a = op(net, "Relu", conv(net, x, (struct layer){32, 16, 1, 1, 0}));
    int b = op(net, "Relu", conv(net, x, (struct layer){20, 16, 3, 1, 1}));
    x = network_node(net, "Concat", (int[]){a, b, a, -2}, ATTRIBUTES(INT("axis", 1)));
    int c = norm(net, conv(net, x, (struct layer){32, 84, 1, 1, 0}), 32);
    x = network_node(net, "Concat", (int[]){c, b, -2}, ATTRIBUTES(INT("axis", 1)));
    int y = network_node(net, "Concat", (int[]){c, a, -2}, ATTRIBUTES(INT("axis", -3)));
    network_output(net, add(net, conv(net, x, (struct layer){8, 52, 1, 1, 0}),
                            conv(net, y, (struct layer){8, 64, 3, 1, 1})));
}

static void depthwise(struct network *net, struct size size) {
    int x = op(net, "Relu", conv(net, picture(net, size, 3), (struct layer){20, 3, 3, 2, 1}));
    int w = network_constant(net, (struct shape){4, {20, 1, 3, 3}}, 0.5F, 0);
    int bias = network_constant(net, (struct shape){1, {20}}, 0.5F, 0);
    x = network_node(net, "Conv", (int[]){x, w, bias, -2},
                     ATTRIBUTES(INT("group", 20), INTS("pads", 1, 1, 1, 1)));
    network_output(
        net, conv(net, op(net, "Relu", batch_norm(net, x, 20)), (struct layer){24, 20, 1, 1, 0}));
}

static int depthwise_conv(struct network *net, int x, int channels, int kernel, int stride,
                          int pad) {
    int w = network_constant(net, (struct shape){4, {channels, 1, kernel, kernel}}, 0.5F, 0);
    int bias = network_constant(net, (struct shape){1, {channels}}, 0.5F, 0);
    return network_node(net, "Conv", (int[]){x, w, bias, -2},
                        ATTRIBUTES(INT("group", channels), INTS("pads", pad, pad, pad, pad),
                                   INTS("strides", stride, stride)));
}

static int six(struct network *net, int x) {
    int low = network_constant(net, (struct shape){0, {0}}, 0, 0);
    int high = network_constant(net, (struct shape){0, {0}}, 0, 6);
    return network_node(net, "Clip", (int[]){x, low, high, -2}, NULL);
}

// As in MobileNetV2: a 1x1 convolution makes the input of a depthwise one, and nothing else reads
// it.
static void inverted(struct network *net, struct size size) {
    int x = six(
        net, batch_norm(net, conv(net, picture(net, size, 3), (struct layer){20, 3, 3, 1, 1}), 20));
    int y = six(net, batch_norm(net, conv(net, x, (struct layer){84, 20, 1, 1, 0}), 84));
    y = six(net, batch_norm(net, depthwise_conv(net, y, 84, 3, 1, 1), 84));
    x = add(net, x, conv(net, y, (struct layer){20, 84, 1, 1, 0}));
    y = op(net, "Relu", conv(net, x, (struct layer){37, 20, 1, 1, 0}));
    y = six(net, depthwise_conv(net, y, 37, 3, 2, 1));
    network_output(net, conv(net, y, (struct layer){12, 37, 1, 1, 0}));
}

// The same, where the 1x1 convolution reads planes, or a value whose norm is pending.
static void pairs(struct network *net, struct size size) {
    int x = depthwise_conv(net, conv(net, picture(net, size, 3), (struct layer){40, 3, 1, 1, 0}),
                           40, 5, 1, 2);
    x = op(net, "Relu", norm(net, x, 40));
    x = depthwise_conv(net, conv(net, x, (struct layer){16, 40, 1, 1, 0}), 16, 3, 2, 0);
    network_output(net,
                   depthwise_conv(net, conv(net, x, (struct layer){8, 16, 1, 1, 0}), 8, 3, 1, 40));
}

// With an addition after it; and one that makes no pair, as the value between has another reader.
static void pairs_and_not(struct network *net, struct size size) {
    int x = conv(net, picture(net, size, 3), (struct layer){40, 3, 3, 1, 1});
    int y = depthwise_conv(net, conv(net, x, (struct layer){40, 40, 1, 1, 0}), 40, 3, 1, 1);
    x = op(net, "Relu", add(net, y, x));
    int z = conv(net, x, (struct layer){40, 40, 1, 1, 0});
    network_output(net, op(net, "Relu", add(net, depthwise_conv(net, z, 40, 3, 1, 1), z)));
}

static int times(struct network *net, int a, int b) {
    return network_node(net, "Mul", (int[]){a, b, -2}, NULL);
}

static int grouped_conv(struct network *net, int x, struct layer l, int groups) {
    const struct shape shape = {4, {l.outs, l.ins / groups, l.kernel, l.kernel}};
    int w = network_constant(net, shape, 0.3F, 0);
    return network_node(net, "Conv", (int[]){x, w, -2},
                        ATTRIBUTES(INT("group", groups), INTS("pads", l.pad, l.pad, l.pad, l.pad),
                                   INTS("strides", l.stride, l.stride)));
}

// Elementwise nodes behind convolutions of every algorithm: with numbers, with one number for each
// channel, with a second activation, and for the input of a gate.
static void activations(struct network *net, struct size size) {
    int x = conv(net, picture(net, size, 3), (struct layer){24, 3, 3, 1, 1});
    x = times(net, x, op(net, "Sigmoid", x));
    int y = batch_norm(net, conv(net, x, (struct layer){40, 24, 1, 1, 0}), 40);
    y = times(net, y, op(net, "HardSigmoid", y));
    y = op(net, "Tanh", depthwise_conv(net, y, 40, 3, 1, 1));
    int gate = conv(net, op(net, "GlobalAveragePool", y), (struct layer){40, 40, 1, 1, 0});
    y = times(net, y, op(net, "Sigmoid", gate));
    int slope = network_constant(net, (struct shape){3, {40, 1, 1}}, 0.5F, 0);
    int z = network_node(net, "PRelu",
                         (int[]){conv(net, y, (struct layer){40, 40, 3, 1, 1}), slope, -2}, NULL);
    z = add(net, times(net, op(net, "Softplus", conv(net, z, (struct layer){40, 40, 3, 1, 1})), y),
            z);
    network_output(net, conv(net, z, (struct layer){8, 40, 1, 1, 0}));
}

// As in ResNeXt and RegNet, with squeeze and excite.
static void groups(struct network *net, struct size size) {
    int x = op(net, "Relu", conv(net, picture(net, size, 3), (struct layer){64, 3, 3, 1, 1}));
    int y = batch_norm(net, grouped_conv(net, x, (struct layer){64, 64, 3, 1, 1}, 4), 64);
    y = add(net, op(net, "Sigmoid", y), x);
    y = norm(net, grouped_conv(net, y, (struct layer){64, 64, 3, 1, 1}, 16), 64);
    y = op(net, "Relu", grouped_conv(net, op(net, "Relu", y), (struct layer){96, 64, 1, 1, 0}, 2));
    y = grouped_conv(net, y, (struct layer){48, 96, 1, 1, 0}, 48); // each of two channels
    network_output(net, conv(net, y, (struct layer){5, 48, 1, 1, 0}));
}

static int transposed_conv(struct network *net, int x, struct layer l, int extra) {
    const struct shape shape = {4, {l.ins, l.outs, l.kernel, l.kernel}};
    int w = network_constant(net, shape, 0.3F, 0);
    int bias = network_constant(net, (struct shape){1, {l.outs}}, 0.5F, 0);
    return network_node(net, "ConvTranspose", (int[]){x, w, bias, -2},
                        ATTRIBUTES(INTS("pads", l.pad, l.pad, l.pad, l.pad),
                                   INTS("strides", l.stride, l.stride),
                                   INTS("output_padding", extra, extra)));
}

#include "tests/conformance/fusion_networks.inc"

static void products(struct network *net, struct size size) {
    int x = network_input(net, (struct shape){3, {size.n, size.h, size.w}});
    int w = network_constant(net, (struct shape){2, {size.w, 37}}, 0.5F, 0);
    network_output(net, network_node(net, "MatMul", (int[]){x, w, -2}, NULL));
}

// Rows in tiles and blocks, columns that fill no block, k in pieces with a remainder; bounds
// after a product.
// x [n, h, 40] times a matrix, plus a row, in both orders, a relu; then one whose row is computed.
static void transformer_layer(struct network *net, struct size size) {
    int x = network_input(net, (struct shape){3, {size.n, size.h, size.w}});
    int row = network_constant(net, (struct shape){1, {24}}, 0.5F, 0);
    int w = network_constant(net, (struct shape){2, {size.w, 24}}, 0.3F, 0);
    x = add(net, row, network_node(net, "MatMul", (int[]){x, w, -2}, NULL));
    w = network_constant(net, (struct shape){2, {24, 24}}, 0.3F, 0);
    row = network_constant(net, (struct shape){3, {1, 1, 24}}, 0.5F, 0);
    x = op(net, "Relu", add(net, network_node(net, "MatMul", (int[]){x, w, -2}, NULL), row));
    network_output(net, x);
}

static void dense(struct network *net, struct size size) {
    int x = network_input(net, (struct shape){2, {size.n, size.w}});
    int w = network_constant(net, (struct shape){2, {150, size.w}}, 0.5F, 0);
    int bias = network_constant(net, (struct shape){1, {150}}, 0.5F, 0);
    x = network_node(net, "Gemm", (int[]){x, w, bias, -2},
                     ATTRIBUTES(INT("transB", 1), NUM("alpha", 0.5F), NUM("beta", 3)));
    x = op(net, "Relu", batch_norm(net, x, 150));
    int low = network_constant(net, (struct shape){0, {0}}, 0, -0.5F);
    int high = network_constant(net, (struct shape){0, {0}}, 0, 2);
    int v = network_constant(net, (struct shape){2, {150, 67}}, 0.1F, 0);
    x = network_node(net, "MatMul", (int[]){x, v, -2}, NULL);
    network_output(net, network_node(net, "Clip", (int[]){x, low, high, -2}, NULL));
}

static const struct row {
    const char *name;
    build_function *build;
    struct size sizes[3];
} rows[] = {
    {"strided style", strided_style, {{1, 21, 30}, {2, 17, 16}, {1, 6, 47}}},
    {"doubled without pad", doubled_without_pad, {{1, 1, 1}, {2, 7, 5}, {1, 12, 33}}},
    {"norm is output", norm_is_output, {{1, 9, 11}, {3, 4, 4}, {1, 1, 2}}},
    {"norm of few channels", norm_of_few, {{1, 9, 11}, {2, 5, 30}, {1, 2, 2}}},
    {"norm then pool", norm_then_pool, {{1, 9, 11}, {2, 8, 8}, {1, 3, 2}}},
    {"pool rounds up", pool_rounds_up, {{1, 9, 10}, {2, 8, 8}, {1, 3, 4}}},
    {"norm for two", norm_for_two, {{1, 9, 11}, {2, 8, 8}, {1, 3, 2}}},
    {"residuals", residuals, {{1, 33, 29}, {3, 16, 15}, {1, 5, 5}}},
    {"residual of the input", residual_of_input, {{1, 9, 31}, {2, 7, 7}, {1, 1, 1}}},
    {"clipped", clipped, {{1, 9, 31}, {2, 7, 7}, {1, 1, 1}}},
    {"relu of the input", relu_of_input, {{1, 9, 31}, {2, 7, 7}, {1, 1, 1}}},
    {"pads that stay", pads_that_stay, {{1, 9, 31}, {2, 7, 7}, {1, 2, 2}}},
    {"joined", joined, {{1, 9, 31}, {2, 7, 7}, {1, 1, 1}}},
    {"fire", fire, {{1, 9, 31}, {2, 7, 7}, {1, 1, 1}}},
    {"depthwise", depthwise, {{1, 9, 31}, {2, 14, 7}, {1, 2, 2}}},
    {"inverted", inverted, {{1, 9, 31}, {2, 14, 7}, {1, 2, 2}}},
    {"pairs", pairs, {{1, 9, 31}, {2, 14, 7}, {1, 3, 3}}},
    {"pairs and not", pairs_and_not, {{1, 9, 31}, {2, 14, 7}, {1, 1, 2}}},
    {"activations", activations, {{1, 9, 31}, {2, 14, 7}, {1, 1, 2}}},
    {"groups", groups, {{1, 9, 31}, {2, 14, 7}, {1, 1, 2}}},
    {"upsampled", upsampled, {{1, 5, 9}, {2, 4, 3}, {1, 1, 1}}},
    {"dense block", dense_block, {{1, 9, 31}, {2, 20, 14}, {1, 1, 2}}},
    {"activated pairs", activated, {{2, 9, 31}, {1, 61, 57}, {1, 2, 2}}},
    {"dilated", dilated, {{1, 19, 31}, {2, 14, 17}, {1, 9, 13}}},
    {"products", products, {{1, 1, 100}, {2, 7, 33}, {3, 29, 1}}},
    // Several blocks of rows, and pieces of k of one run, of several, and of parts of runs.
    {"products of many rows", products, {{2, 90, 800}, {1, 168, 384}, {1, 300, 1000}}},
    {"transformer layer", transformer_layer, {{1, 1, 40}, {2, 33, 7}, {3, 5, 40}}},
    {"dense", dense, {{1, 1, 1100}, {290, 1, 1100}, {57, 1, 512}}},
};

// The largest difference relative to the largest element; infinite for other shapes and for NaN.
static double difference(const struct tensor *seen, const struct tensor *wanted) {
    double worst = 0, largest = 1e-6;
    if (seen->type != wanted->type || !shape_equal(&seen->shape, &wanted->shape)) {
        return INFINITY;
    }
    for (int64_t i = 0; i < shape_count(&seen->shape); i++) {
        double a = (double)((float *)seen->data)[i], b = (double)((float *)wanted->data)[i];
        worst = isfinite(a) ? fmax(worst, fabs(a - b)) : INFINITY;
        largest = fmax(largest, fabs(b));
    }
    return worst / largest;
}

static void check_network(struct network *net, const char *what, int threads,
                          const struct tensor *wanted) {
    struct error err = {0};
    struct device *device = NULL;
    struct tensor seen = {0};
    CHECK_OK(device_open("cpu", threads, &device, &err), &err);
    if (device && network_run(net, device, 1, &seen, &err) < 0) {
        printf("# %s: %s\n", what, err.text);
        test_failures++;
    } else if (device && !(difference(&seen, wanted) <= 1e-4)) {
        printf("# %s, %d threads: off by %g\n", what, threads, difference(&seen, wanted));
        test_failures++;
    }
    tensor_release(&seen);
    device_close(device);
}

/* What the reference kernels make of each row, computed once for all instruction sets. */
static struct tensor references[ARRAY_LEN(rows) * 3];

static const struct tensor *reference_of(struct network *net, size_t at) {
    struct error err = {0};
    struct device *device = NULL;
    if (!references[at].data) {
        CHECK_OK(device_open("reference", 1, &device, &err), &err);
        CHECK_OK(network_run(net, device, 1, &references[at], &err), &err);
        device_close(device);
    }
    return &references[at];
}

static void check_isa(enum isa isa) {
    if (!isa_runs_here(isa)) {
        SKIP("this processor has no %s", isa_name(isa));
    }
    setenv("WINDLASS_CPU_ISA", isa_name(isa), 1);
    for (size_t i = 0; i < ARRAY_LEN(references); i++) {
        const struct row *row = &rows[i / 3];
        const struct size *size = &row->sizes[i % 3];
        char what[128];
        if (!test_takes(i + isa, ARRAY_LEN(rows))) {
            continue;
        }
        snprintf(what, sizeof what, "%s at %dx%dx%d", row->name, size->n, size->h, size->w);
        struct network net;
        network_init(&net, 13);
        row->build(&net, *size);
        const struct tensor *wanted = reference_of(&net, i);
        for (int threads = 1; wanted->data && threads <= 3; threads += 2) {
            check_network(&net, what, threads, wanted);
        }
        arena_release(&net.graph.arena);
    }
    unsetenv("WINDLASS_CPU_ISA");
}

static void test_fusion_plain(void) {
    check_isa(ISA_PLAIN);
}

static void test_fusion_avx2(void) {
    check_isa(ISA_AVX2);
}

static void test_fusion_avx512(void) {
    check_isa(ISA_AVX512);
}

// Packed weights are kept for all shapes, but a single pixel has phases of its own.
static void test_one_device_for_two_shapes(void) {
    static const struct size sizes[] = {{1, 1, 1}, {1, 4, 4}, {2, 1, 3}, {1, 1, 1}};
    struct network net;
    struct error err = {0};
    struct device *devices[2] = {NULL};
    network_init(&net, 13);
    int x = picture(&net, sizes[0], 16);
    network_output(&net, transposed_conv(&net, x, (struct layer){20, 16, 4, 2, 0}, 0));
    CHECK_OK(device_open("cpu", 1, &devices[0], &err), &err);
    CHECK_OK(device_open("reference", 1, &devices[1], &err), &err);
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct tensor seen[2] = {{.data = NULL}};
        net.values[x].shape = (struct shape){4, {sizes[i].n, 16, sizes[i].h, sizes[i].w}};
        for (int k = 0; k < 2; k++) {
            CHECK_OK(network_run(&net, devices[k], 1, &seen[k], &err), &err);
        }
        CHECK(difference(&seen[0], &seen[1]) <= 1e-4);
        tensor_release(&seen[0]);
        tensor_release(&seen[1]);
    }
    device_close(devices[0]);
    device_close(devices[1]);
    arena_release(&net.graph.arena);
}

// The plan has this number of steps with a node; the name of each kernel matches the pattern.
static void check_steps(build_function *build, struct size size, const char *kernel, int count) {
    struct network net;
    struct error err = {0};
    struct device *device = NULL;
    struct execution_plan *plan = NULL;
    struct tensor input = {0};
    network_init(&net, 13);
    build(&net, size);
    CHECK_OK(device_open("cpu", 1, &device, &err), &err);
    CHECK_OK(tensor_init(&input, TENSOR_FLOAT32, &net.values[net.inputs[0]].shape, &err), &err);
    CHECK_OK(execution_plan_new(device, &net.graph, &input, &plan, &err), &err);
    int steps = 0;
    for (size_t i = 0; i < plan->schedule->step_count; i++) {
        const struct step *step = &plan->schedule->steps[i];
        steps += step->node != NULL;
        CHECK(!step->node || fnmatch(kernel, step->kernel->name, 0) == 0);
    }
    CHECK_INT(steps, count);
    execution_plan_free(plan);
    tensor_release(&input);
    device_close(device);
    arena_release(&net.graph.arena);
}

// This suite compares fast kernels: without this check it would pass even if nothing were fused.
static void test_style_network_is_fused(void) {
    check_steps(strided_style, (struct size){1, 32, 32}, "fast*",
                7); // six convolutions and an addition, of 23 nodes
}

static void test_pairs_are_one_step(void) {
    check_steps(inverted, (struct size){1, 9, 9}, "fast Conv",
                5); // the first, two pairs, and a 1x1 after each; of 17 nodes
    check_steps(activated, (struct size){1, 9, 9}, "fast *", 9); // three pairs; of 25 nodes
}

static void test_operands_are_made_in_their_place(void) {
    check_steps(joined, (struct size){1, 9, 9}, "fast Conv", 4); // of 7 nodes
    check_steps(joined, (struct size){2, 9, 9}, "fast Con*", 5);
}

static void test_norms_belong_to_the_concatenation(void) {
    check_steps(dense_block, (struct size){1, 9, 9}, "fast Con*",
                6); // four convolutions, two concatenations; of 12 nodes
}

// Otherwise `dilated` would compare the direct algorithm alone.
static void test_dilated_ones_are_split(void) {
    struct network net;
    struct error err = {0};
    struct device *device = NULL;
    struct execution_plan *plan = NULL;
    struct tensor input = {0};
    network_init(&net, 13);
    dilated(&net, (struct size){1, 19, 31});
    CHECK_OK(device_open("cpu", 1, &device, &err), &err);
    CHECK_OK(tensor_init(&input, TENSOR_FLOAT32, &net.values[net.inputs[0]].shape, &err), &err);
    CHECK_OK(execution_plan_new(device, &net.graph, &input, &plan, &err), &err);
    int count = 0;
    for (size_t i = 0; i < plan->schedule->step_count; i++) {
        const struct step *step = &plan->schedule->steps[i];
        const struct conv_step *conv =
            step->node && step->kernel == &fast_conv ? step->state : NULL;
        count += conv && conv->is_split;
    }
    CHECK_INT(count, 4); // of 5: one has an addition behind it
    execution_plan_free(plan);
    tensor_release(&input);
    device_close(device);
    arena_release(&net.graph.arena);
}

static void test_groups_are_fused(void) {
    check_steps(groups, (struct size){1, 9, 9}, "*", 6); // of 14 nodes
}

static void test_rows_belong_to_the_product(void) {
    check_steps(transformer_layer, (struct size){3, 5, 40}, "fast Gemm", 2); // of 5 nodes
}

static void test_bounds_belong_to_the_product(void) {
    check_steps(dense, (struct size){3, 1, 40}, "fast Gemm", 2); // of 5 nodes
}

int main(void) {
    TEST(test_fusion_plain);
    TEST(test_fusion_avx2);
    TEST(test_fusion_avx512);
    TEST(test_one_device_for_two_shapes);
    TEST(test_style_network_is_fused);
    TEST(test_pairs_are_one_step);
    TEST(test_operands_are_made_in_their_place);
    TEST(test_norms_belong_to_the_concatenation);
    TEST(test_dilated_ones_are_split);
    TEST(test_groups_are_fused);
    TEST(test_rows_belong_to_the_product);
    TEST(test_bounds_belong_to_the_product);
    for (size_t i = 0; i < ARRAY_LEN(references); i++) {
        tensor_release(&references[i]);
    }
    return TEST_END();
}
