// SPDX-License-Identifier: Apache-2.0
/* Builds a network with random weights: CNN, MLP, ResNet18, ResNet50. */
#include "agent/engine/model.h"

#include "agent/engine/graph/node.h"
#include "agent/engine/networks/net.h"

#include <assert.h>
#include <stdio.h>
#include <strings.h>

enum { SMALL_SIDE = 64, BOTTLENECK = 4, STAGES = 4, NAME_BYTES = 64, PREFIX_BYTES = 32 };

static const char *const names[] = {"CNN", "MLP", "ResNet18", "ResNet50"};
static_assert(ARRAY_LEN(names) == NETWORK_KIND_COUNT, "one name per kind");

int network_kind_find(const char *name) {
    for (int i = 0; i < NETWORK_KIND_COUNT; i++) {
        if (strcasecmp(name, names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

static int make_cnn(struct net *net, const struct network_options *options, int x) {
    int64_t from = options->shape[0], height = options->shape[1], width = options->shape[2];
    static const int64_t channels[] = {16, 32};
    char name[NAME_BYTES];
    for (size_t i = 0; i < ARRAY_LEN(channels); i++) {
        snprintf(name, sizeof name, "conv%zu", i + 1);
        x = net_conv(net, name, x, (struct net_conv_shape){from, channels[i], 3, 1},
                     net->is_smooth);
        snprintf(name, sizeof name, "bn%zu", i + 1);
        x = net->is_smooth ? x : net_norm(net, name, x, channels[i]);
        snprintf(name, sizeof name, "act%zu", i + 1);
        x = net_activate(net, name, x);
        snprintf(name, sizeof name, "pool%zu", i + 1);
        x = net_pool(net, name, x, 2, 2, 0);
        from = channels[i];
        height /= 2;
        width /= 2;
    }
    x = net_flatten(net, "flatten", x);
    x = net_dense(net, "fc1", x, (int64_t[]){from * height * width, 128}, false);
    x = net->is_smooth ? x : net_norm(net, "bn3", x, 128);
    x = net_activate(net, "act3", x);
    return net_dense(net, "fc2", x, (int64_t[]){128, options->classes}, true);
}

static int make_mlp(struct net *net, const struct network_options *options, int x) {
    const int64_t *shape = options->shape;
    x = net_flatten(net, "flatten", x);
    x = net_dense(net, "fc1", x, (int64_t[]){shape[0] * shape[1] * shape[2], 256}, false);
    x = net_activate(net, "act1", x);
    x = net_dense(net, "fc2", x, (int64_t[]){256, 128}, false);
    x = net_activate(net, "act2", x);
    return net_dense(net, "fc3", x, (int64_t[]){128, options->classes}, true);
}

/* A convolution, its norm, and a relu if one follows. */
static int make_unit(struct net *net, const char *block, int number, int x,
                     struct net_conv_shape conv, bool is_activated) {
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%sconv%d", block, number);
    x = net_conv(net, name, x, conv, /* has_bias= */ false);
    snprintf(name, sizeof name, "%sbn%d", block, number);
    x = net_norm(net, name, x, conv.to);
    snprintf(name, sizeof name, "%srelu%d", block, number);
    return is_activated ? net_activate(net, name, x) : x;
}

struct block {
    int64_t from, width, stride;
    bool is_bottleneck;
};

static int make_block(struct net *net, const char *prefix, int input, struct block block) {
    int64_t to = block.is_bottleneck ? BOTTLENECK * block.width : block.width, s = block.stride;
    char name[NAME_BYTES];
    int x = input, shortcut = input;
    if (block.is_bottleneck) {
        x = make_unit(net, prefix, 1, x, (struct net_conv_shape){block.from, block.width, 1, 1},
                      true);
        x = make_unit(net, prefix, 2, x, (struct net_conv_shape){block.width, block.width, 3, s},
                      true);
        x = make_unit(net, prefix, 3, x, (struct net_conv_shape){block.width, to, 1, 1}, false);
    } else {
        x = make_unit(net, prefix, 1, x, (struct net_conv_shape){block.from, to, 3, s}, true);
        x = make_unit(net, prefix, 2, x, (struct net_conv_shape){to, to, 3, 1}, false);
    }
    if (s != 1 || block.from != to) {
        snprintf(name, sizeof name, "%sdownsample.0", prefix);
        shortcut = net_conv(net, name, input, (struct net_conv_shape){block.from, to, 1, s}, false);
        snprintf(name, sizeof name, "%sdownsample.1", prefix);
        shortcut = net_norm(net, name, shortcut, to);
    }
    snprintf(name, sizeof name, "%sadd", prefix);
    x = net_add(net, name, x, shortcut);
    snprintf(name, sizeof name, "%srelu", prefix);
    return net_activate(net, name, x);
}

static int make_resnet(struct net *net, const struct network_options *options, int x,
                       const int counts[STAGES], bool is_bottleneck) {
    bool is_small = MIN(options->shape[1], options->shape[2]) < SMALL_SIDE;
    int64_t from = 64;
    struct net_conv_shape first = {options->shape[0], from, is_small ? 3 : 7, is_small ? 1 : 2};
    x = make_unit(net, "", 1, x, first, true);
    x = is_small ? x : net_pool(net, "maxpool", x, 3, 2, 1);
    for (int stage = 0; stage < STAGES; stage++) {
        int64_t width = (int64_t)64 << stage;
        for (int i = 0; i < counts[stage]; i++) {
            char prefix[PREFIX_BYTES];
            struct block block = {from, width, i == 0 && stage > 0 ? 2 : 1, is_bottleneck};
            snprintf(prefix, sizeof prefix, "layer%d.%d.", stage + 1, i);
            x = make_block(net, prefix, x, block);
            from = is_bottleneck ? BOTTLENECK * width : width;
        }
    }
    x = net_global_average(net, "avgpool", x);
    x = net_flatten(net, "flatten", x);
    return net_dense(net, "fc", x, (int64_t[]){from, options->classes}, true);
}

static int check(enum network_kind kind, const struct network_options *options, struct error *err) {
    const int64_t *shape = options->shape;
    bool is_resnet = kind == NETWORK_RESNET18 || kind == NETWORK_RESNET50;
    int64_t least = is_resnet ? 8 : kind == NETWORK_CNN ? 4 : 1;
    if (options->classes < 1 || options->classes > NETWORKS_CLASSES_MAX) {
        return error_set(err, ERROR_INVALID, "classes: 1 to %d are expected", NETWORKS_CLASSES_MAX);
    }
    for (int i = 0; i < 3; i++) {
        int64_t low = i ? least : 1, high = i ? NETWORKS_SIDE_MAX : 1024;
        if (shape[i] < low || shape[i] > high) {
            return error_set(err, ERROR_INVALID, "shape: %s: expected %lld to %lld for %s",
                             i ? "side" : "channels", (long long)low, (long long)high, names[kind]);
        }
    }
    if (is_resnet && options->is_smooth) {
        return error_set(err, ERROR_INVALID, "smooth: CNN and MLP alone can be made so");
    }
    if (!is_resnet && shape[0] * shape[1] * shape[2] > 1 << 22) {
        return error_set(err, ERROR_INVALID, "shape: %s takes at most %d numbers", names[kind],
                         1 << 22);
    }
    return 0;
}

int network_new(enum network_kind kind, const struct network_options *options,
                struct graph *ret_graph, struct error *err) {
    static const int counts18[STAGES] = {2, 2, 2, 2}, counts50[STAGES] = {3, 4, 6, 3};
    struct net net;
    int x;
    if (check(kind, options, err) < 0) {
        return -1;
    }
    net_init(&net, options->seed, options->shape, &x);
    net.is_smooth = options->is_smooth;
    x = kind == NETWORK_CNN        ? make_cnn(&net, options, x)
        : kind == NETWORK_MLP      ? make_mlp(&net, options, x)
        : kind == NETWORK_RESNET18 ? make_resnet(&net, options, x, counts18, false)
                                   : make_resnet(&net, options, x, counts50, true);
    net_finish(&net, x, options->classes, ret_graph);
    for (size_t i = 0; i < ret_graph->node_count; i++) {
        if (node_check(&ret_graph->nodes[i], err) < 0) {
            graph_release(ret_graph);
            return -1;
        }
    }
    return 0;
}
