/* training_networks.h: small networks that tests train: patterns that devices fuse, and patterns
 * that they must not. */
#pragma once

#include "tests/conformance/attributes.h"
#include "tests/conformance/network_run.h"

#define ATTRIBUTES(...) ((const struct attribute[]){__VA_ARGS__, {.name = NULL}})

/* ---- networks ------------------------------------------------------------------------------- */

static inline int op(struct network *net, const char *name, int x) {
    return network_node(net, name, (int[]){x, -2}, NULL);
}

static inline int add(struct network *net, int a, int b) {
    return network_node(net, "Add", (int[]){a, b, -2}, NULL);
}

struct form {
    int outs, ins, kernel, stride;
};

static inline int conv(struct network *net, int x, struct form f) {
    float scale = 1.7F / sqrtf((float)(f.ins * f.kernel * f.kernel));
    int w = network_constant(net, (struct shape){4, {f.outs, f.ins, f.kernel, f.kernel}}, scale, 0);
    int p = f.kernel / 2;
    return network_node(net, "Conv", (int[]){x, w, -2},
                        ATTRIBUTES(INTS("pads", p, p, p, p), INTS("strides", f.stride, f.stride)));
}

static inline int norm(struct network *net, int x, int channels) {
    const struct shape shape = {1, {channels}};
    int scale = network_constant(net, shape, 0.5F, 1), bias = network_constant(net, shape, 0.5F, 0);
    int mean = network_constant(net, shape, 0, 0), var = network_constant(net, shape, 0, 1);
    return network_node(net, "BatchNormalization", (int[]){x, scale, bias, mean, var, -2}, NULL);
}

static inline int unit(struct network *net, int x, struct form f) {
    return op(net, "Relu", norm(net, conv(net, x, f), f.outs));
}

static inline int pool(struct network *net, int x, int kernel, int stride, int pad) {
    return network_node(net, "MaxPool", (int[]){x, -2},
                        ATTRIBUTES(INTS("kernel_shape", kernel, kernel),
                                   INTS("pads", pad, pad, pad, pad),
                                   INTS("strides", stride, stride)));
}

static inline int dense(struct network *net, int x, int ins) {
    int w = network_constant(net, (struct shape){2, {5, ins}}, 0.5F, 0);
    x = op(net, "Flatten", op(net, "GlobalAveragePool", x));
    return network_node(net, "Gemm", (int[]){x, w, -2}, ATTRIBUTES(INT("transB", 1)));
}

/* ResNet's blocks: a shortcut with a norm, then one without. `c` channels. */
static inline int resnet(struct network *net, int x, int c) {
    x = pool(net, unit(net, x, (struct form){c, 3, 3, 1}), 3, 2, 1);
    int y = unit(net, x, (struct form){c, c, 1, 1});
    y = unit(net, y, (struct form){c, c, 3, 2});
    y = norm(net, conv(net, y, (struct form){2 * c, c, 1, 1}), 2 * c);
    int z = norm(net, conv(net, x, (struct form){2 * c, c, 1, 2}), 2 * c);
    x = op(net, "Relu", add(net, y, z));
    y = norm(net, conv(net, x, (struct form){2 * c, 2 * c, 3, 1}), 2 * c);
    x = op(net, "Relu", add(net, x, y));
    return dense(net, x, 2 * c);
}

static inline int resnet_of_blocks(struct network *net, int x) {
    return resnet(net, x, 16);
}

/* Channels that fill no block: oneDNN's images are row-major, the norms' are not. */
static inline int resnet_of_rests(struct network *net, int x) {
    return resnet(net, x, 10);
}

/* A norm and a relu with two readers; a relu before a sum alone; a norm without a relu. */
static inline int shared(struct network *net, int x) {
    x = norm(net, conv(net, x, (struct form){16, 3, 3, 1}), 16);
    int y = op(net, "Relu", x);
    int z = add(net, op(net, "Relu", norm(net, add(net, x, y), 16)), op(net, "Tanh", y));
    y = norm(net, conv(net, z, (struct form){16, 16, 3, 1}), 16);
    return add(net, y, conv(net, z, (struct form){16, 16, 1, 1}));
}

/* The addend of the norm is made after it: the gradient after the relu has another reader first. */
static inline int late(struct network *net, int x) {
    x = conv(net, x, (struct form){16, 3, 3, 1});
    int y = norm(net, x, 16), z = conv(net, x, (struct form){16, 16, 1, 1});
    x = op(net, "Relu", add(net, y, z));
    return conv(net, x, (struct form){16, 16, 3, 1});
}

/* Windows that overlap, extend over the edges, leave a remainder; with numbers of both signs. */
static inline int pooled(struct network *net, int x) {
    x = pool(net, norm(net, conv(net, x, (struct form){16, 3, 1, 1}), 16), 3, 2, 0);
    x = pool(net, conv(net, x, (struct form){32, 16, 3, 1}), 2, 1, 1);
    return conv(net, x, (struct form){16, 32, 1, 1});
}

/* The shapes of networks without norms. */
static inline int without_norms(struct network *net, int x) {
    x = op(net, "Relu", conv(net, x, (struct form){16, 3, 3, 1}));
    int y = op(net, "Relu", conv(net, x, (struct form){16, 16, 3, 1}));
    x = op(net, "Relu", add(net, x, conv(net, y, (struct form){16, 16, 1, 1})));
    return dense(net, pool(net, x, 2, 2, 0), 16);
}

/* Enough channels and pixels for Winograd, where there is AVX-512. */
static inline int wide(struct network *net, int x) {
    x = norm(net, conv(net, x, (struct form){64, 3, 1, 1}), 64);
    x = norm(net, conv(net, x, (struct form){64, 64, 3, 1}), 64);
    return conv(net, x, (struct form){8, 64, 1, 1});
}

static const struct row {
    const char *name;
    int (*build)(struct network *net, int x);
    int n, h, w;
} rows[] = {
    {"resnet", resnet_of_blocks, 8, 9, 11},
    {"resnet", resnet_of_blocks, 1, 12, 7},
    {"resnet", resnet_of_blocks, 6, 7, 8},
    {"resnet, 10 channels", resnet_of_rests, 4, 9, 11},
    {"shared", shared, 4, 9, 6},
    {"shared", shared, 3, 5, 5},
    {"late", late, 4, 6, 7},
    {"wide", wide, 4, 12, 15},
    {"pooled", pooled, 4, 9, 12},
    {"pooled", pooled, 2, 8, 5},
    {"without norms", without_norms, 4, 8, 9},
};
