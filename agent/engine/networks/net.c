// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/networks/net.h"

#include "agent/engine/graph/node.h"
#include "agent/engine/model.h"
#include "agent/engine/ops/table.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { VALUES_MAX = 2048, NODES_MAX = 512, NAME_MAX_BYTES = 128, NODE_INPUTS_MAX = 8 };

static const float norm_epsilon = 1e-5f, norm_momentum = 0.9f;

/* ---- values --------------------------------------------------------------------------------- */

static char *join(struct net *net, const char *name, const char *ending) {
    char text[NAME_MAX_BYTES];
    int size = snprintf(text, sizeof text, "%s%s", name, ending);
    assert(size < (int)sizeof text);
    return arena_text(&net->graph.arena, text, (size_t)size);
}

static int add_value(struct net *net, const char *name) {
    assert(net->graph.value_count < net->value_room);
    net->graph.values[net->graph.value_count].name = name;
    return (int)net->graph.value_count++;
}

/* Zeros. */
static int add_constant(struct net *net, const char *name, struct shape shape, float **ret_data) {
    int index = add_value(net, name);
    struct value *value = &net->graph.values[index];
    size_t count = (size_t)shape_count(&shape);
    *ret_data = arena_array(&net->graph.arena, count, sizeof **ret_data);
    value->type = TENSOR_FLOAT32;
    value->shape = shape;
    value->has_shape = value->is_constant = true;
    value->constant = (struct tensor){TENSOR_FLOAT32, shape, *ret_data, false};
    return index;
}

/* splitmix64; the upper 24 bits are exact in a float. */
static float draw_unit(struct net *net) {
    uint64_t x = net->random += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return (float)((x ^ x >> 31) >> 40) * 0x1p-24f;
}

/* The first dimension is the number of outputs, the product of all others the fan-in. */
static int add_weight(struct net *net, const char *name, struct shape shape, bool is_last) {
    float *data;
    int index = add_constant(net, join(net, name, ".weight"), shape, &data);
    int64_t count = shape_count(&shape);
    int64_t inputs = count / shape.dims[0];
    float bound = sqrtf((is_last || net->is_smooth ? 3.0f : 6.0f) / (float)inputs);
    for (int64_t i = 0; i < count; i++) {
        data[i] = bound * (2 * draw_unit(net) - 1);
    }
    return index;
}

static int add_vector(struct net *net, const char *name, const char *ending, int64_t size,
                      float number) {
    float *data;
    int index = add_constant(net, join(net, name, ending), (struct shape){1, {size}}, &data);
    for (int64_t i = 0; i < size; i++) {
        data[i] = number;
    }
    return index;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

struct node_request {
    const char *op, *name;
    int inputs[NODE_INPUTS_MAX];
    int input_count;
    size_t attribute_count;
    const struct attribute *attributes;
};

static int add_node(struct net *net, const struct node_request *wanted) {
    struct graph *graph = &net->graph;
    struct arena *arena = &graph->arena;
    assert(graph->node_count < net->node_room);
    int *inputs = arena_array(arena, (size_t)wanted->input_count, sizeof *inputs);
    int *output = arena_array(arena, 1, sizeof *output);
    struct attribute *attributes =
        arena_array(arena, wanted->attribute_count + 1, sizeof *attributes);
    memcpy(inputs, wanted->inputs, (size_t)wanted->input_count * sizeof *inputs);
    for (size_t i = 0; i < wanted->attribute_count; i++) {
        attributes[i] = wanted->attributes[i];
        if (attributes[i].count) {
            size_t bytes = attributes[i].count * sizeof(int64_t);
            attributes[i].integers =
                memcpy(arena_alloc(arena, bytes), attributes[i].integers, bytes);
        }
    }
    *output = add_value(net, join(net, wanted->name, ".output"));
    struct node *node = &graph->nodes[graph->node_count++];
    *node = (struct node){.op = op_find(wanted->op, NETWORKS_OPSET),
                          .name = join(net, wanted->name, ""),
                          .opset = NETWORKS_OPSET,
                          .input_count = wanted->input_count,
                          .output_count = 1,
                          .inputs = inputs,
                          .outputs = output,
                          .attribute_count = wanted->attribute_count,
                          .attributes = attributes};
    assert(node->op);
    return *output;
}

static struct attribute integers(const char *name, size_t count, const int64_t *values) {
    return (struct attribute){
        .name = name, .kind = ATTRIBUTE_INTEGERS, .count = count, .integers = values};
}

static int add_plain(struct net *net, const char *op, const char *name, int left, int right) {
    struct node_request wanted = {
        .op = op, .name = name, .inputs = {left, right}, .input_count = 1};
    wanted.input_count += right >= 0;
    return add_node(net, &wanted);
}

int net_conv(struct net *net, const char *name, int input, struct net_conv_shape conv,
             bool has_bias) {
    int64_t k = conv.kernel, s = conv.stride, p = k / 2;
    struct attribute attributes[] = {integers("kernel_shape", 2, (int64_t[]){k, k}),
                                     integers("pads", 4, (int64_t[]){p, p, p, p}),
                                     integers("strides", 2, (int64_t[]){s, s})};
    struct shape shape = {4, {conv.to, conv.from, k, k}};
    struct node_request wanted = {.op = "Conv", .name = name, .inputs = {input}, .input_count = 2};
    wanted.inputs[1] = add_weight(net, name, shape, /* is_last= */ false);
    if (has_bias) {
        wanted.inputs[wanted.input_count++] = add_vector(net, name, ".bias", conv.to, 0);
    }
    wanted.attributes = attributes;
    wanted.attribute_count = ARRAY_LEN(attributes);
    return add_node(net, &wanted);
}

int net_norm(struct net *net, const char *name, int input, int64_t channels) {
    struct attribute attributes[] = {
        {.name = "epsilon", .kind = ATTRIBUTE_NUMBER, .number = norm_epsilon},
        {.name = "momentum", .kind = ATTRIBUTE_NUMBER, .number = norm_momentum}};
    struct node_request wanted = {.op = "BatchNormalization",
                                  .name = name,
                                  .inputs = {input},
                                  .input_count = 5,
                                  .attribute_count = ARRAY_LEN(attributes),
                                  .attributes = attributes};
    wanted.inputs[1] = add_vector(net, name, ".weight", channels, 1);
    wanted.inputs[2] = add_vector(net, name, ".bias", channels, 0);
    wanted.inputs[3] = add_vector(net, name, ".running_mean", channels, 0);
    wanted.inputs[4] = add_vector(net, name, ".running_var", channels, 1);
    return add_node(net, &wanted);
}

int net_activate(struct net *net, const char *name, int input) {
    return add_plain(net, net->is_smooth ? "Tanh" : "Relu", name, input, -1);
}

int net_add(struct net *net, const char *name, int left, int right) {
    return add_plain(net, "Add", name, left, right);
}

int net_pool(struct net *net, const char *name, int input, int64_t kernel, int64_t stride,
             int64_t pad) {
    struct attribute attributes[] = {integers("kernel_shape", 2, (int64_t[]){kernel, kernel}),
                                     integers("pads", 4, (int64_t[]){pad, pad, pad, pad}),
                                     integers("strides", 2, (int64_t[]){stride, stride})};
    struct node_request wanted = {.op = net->is_smooth ? "AveragePool" : "MaxPool",
                                  .name = name,
                                  .inputs = {input},
                                  .input_count = 1,
                                  .attribute_count = ARRAY_LEN(attributes),
                                  .attributes = attributes};
    return add_node(net, &wanted);
}

int net_global_average(struct net *net, const char *name, int input) {
    return add_plain(net, "GlobalAveragePool", name, input, -1);
}

int net_flatten(struct net *net, const char *name, int input) {
    return add_plain(net, "Flatten", name, input, -1);
}

int net_dense(struct net *net, const char *name, int input, const int64_t from_to[2],
              bool is_last) {
    struct attribute transposed = {.name = "transB", .kind = ATTRIBUTE_INTEGER, .integer = 1};
    struct shape shape = {2, {from_to[1], from_to[0]}};
    struct node_request wanted = {.op = "Gemm",
                                  .name = name,
                                  .inputs = {input},
                                  .input_count = 3,
                                  .attribute_count = 1,
                                  .attributes = &transposed};
    wanted.inputs[1] = add_weight(net, name, shape, is_last);
    wanted.inputs[2] = add_vector(net, name, ".bias", from_to[1], 0);
    return add_node(net, &wanted);
}

/* ---- life ----------------------------------------------------------------------------------- */

void net_init(struct net *net, uint64_t seed, const int64_t shape[3], int *ret_input) {
    *net = (struct net){.random = seed, .value_room = VALUES_MAX, .node_room = NODES_MAX};
    struct graph *graph = &net->graph;
    graph->values = arena_array(&graph->arena, VALUES_MAX, sizeof *graph->values);
    graph->nodes = arena_array(&graph->arena, NODES_MAX, sizeof *graph->nodes);
    graph->inputs = arena_array(&graph->arena, 1, sizeof *graph->inputs);
    graph->outputs = arena_array(&graph->arena, 1, sizeof *graph->outputs);
    int input = add_value(net, "input");
    struct value *value = &graph->values[input];
    value->shape = (struct shape){4, {-1, shape[0], shape[1], shape[2]}};
    value->has_shape = value->is_input = true;
    graph->inputs[graph->input_count++] = input;
    *ret_input = input;
}

void net_finish(struct net *net, int value, int64_t classes, struct graph *ret_graph) {
    struct graph *graph = &net->graph;
    graph->values[value].name = "logits";
    graph->values[value].shape = (struct shape){2, {-1, classes}};
    graph->values[value].has_shape = true;
    graph->outputs[graph->output_count++] = value;
    *ret_graph = *graph;
    *graph = (struct graph){0};
}
