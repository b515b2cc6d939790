/* network.h: small networks built in memory, for the device suite. */
#pragma once

#include "agent/engine/device/kernel.h"
#include "agent/engine/ops/ml/ml.h"
#include "agent/engine/ops/table.h"
#include "agent/engine/run/execution_plan.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NETWORK_VALUES = 96, NETWORK_NODES = 32, NETWORK_PORTS = 10, NETWORK_ATTRIBUTES = 16 };
/* Of ai.onnx.ml, whose operators have other names; the newest where the first has no such one. */
enum { NETWORK_ML_VERSION = 3, NETWORK_ML_NEWEST = 5 };

/* The range of an input's numbers; both 0: -1 to 1. */
struct network_range {
    double low, high;           /* for integers, high is excluded */
    bool is_odd;                /* every fifth is infinite or NaN */
    enum tensor_type rounds_to; /* only numbers that this type can represent */
};

struct network {
    struct graph graph;
    struct value values[NETWORK_VALUES];
    struct node nodes[NETWORK_NODES];
    int inputs[NETWORK_VALUES], outputs[NETWORK_VALUES];
    int ports[NETWORK_NODES][2][NETWORK_PORTS];
    struct attribute attributes[NETWORK_NODES][NETWORK_ATTRIBUTES];
    struct network_range ranges[NETWORK_VALUES];
    int opset;
};

static inline void network_init(struct network *network, int opset) {
    memset(network, 0, sizeof *network);
    network->opset = opset;
    network->graph.values = network->values;
    network->graph.nodes = network->nodes;
    network->graph.inputs = network->inputs;
    network->graph.outputs = network->outputs;
}

static inline int network_value(struct network *network, const char *name) {
    assert(network->graph.value_count < NETWORK_VALUES);
    network->values[network->graph.value_count].name = name;
    return (int)network->graph.value_count++;
}

/* Repeatable numbers from -1 to 1. */
static inline void network_fill(struct tensor *tensor, uint32_t seed) {
    int64_t count = shape_count(&tensor->shape);
    uint32_t state = seed * 2654435761u + 1;
    for (int64_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        ((float *)tensor->data)[i] = (float)(int32_t)state * 0x1p-31f;
    }
}

static inline int network_input(struct network *network, struct shape shape) {
    int value = network_value(network, "input");
    network->values[value].shape = shape;
    network->values[value].is_input = true;
    network->inputs[network->graph.input_count++] = value;
    return value;
}

static inline int network_keep(struct network *network, const char *name, struct tensor tensor) {
    int value = network_value(network, name);
    struct value *to = &network->values[value];
    *to = (struct value){.name = name,
                         .type = tensor.type,
                         .shape = tensor.shape,
                         .has_shape = true,
                         .is_constant = true,
                         .constant = tensor};
    return value;
}

/* A constant of random numbers, scaled; `shift` is added (variances must be positive). */
static inline int network_constant(struct network *network, struct shape shape, float scale,
                                   float shift) {
    struct tensor tensor = {.shape = shape};
    size_t count = (size_t)shape_count(&shape);
    float *numbers = tensor.data = arena_array(&network->graph.arena, count, sizeof *numbers);
    network_fill(&tensor, (uint32_t)network->graph.value_count);
    for (size_t i = 0; i < count; i++) {
        numbers[i] = numbers[i] * scale + shift;
    }
    return network_keep(network, "constant", tensor);
}

static inline int network_integers(struct network *network, const int64_t *numbers, int count) {
    struct tensor tensor = {.type = TENSOR_INT64, .shape = {1, {count}}};
    tensor.data = arena_array(&network->graph.arena, (size_t)count, sizeof *numbers);
    memcpy(tensor.data, numbers, (size_t)count * sizeof *numbers);
    return network_keep(network, "integers", tensor);
}

/* Inputs end with -2; attributes (NULL: none) end with a NULL name; their lists of integers are
 * copied, other lists are not. Returns the first output, the others follow it. */
static inline int network_node_many(struct network *network, const char *op, const int *inputs,
                                    const struct attribute *attributes, int output_count) {
    size_t index = network->graph.node_count++;
    struct node *node = &network->nodes[index];
    assert(index < NETWORK_NODES);
    const struct op *row = op_find(op, network->opset);
    row = row ? row : ml_table_find(op, NETWORK_ML_VERSION);
    *node = (struct node){.op = row ? row : ml_table_find(op, NETWORK_ML_NEWEST),
                          .name = op,
                          .opset = network->opset,
                          .output_count = output_count,
                          .inputs = network->ports[index][0],
                          .outputs = network->ports[index][1],
                          .attributes = network->attributes[index]};
    assert(node->op);
    while (inputs[node->input_count] != -2) {
        network->ports[index][0][node->input_count] = inputs[node->input_count];
        node->input_count++;
    }
    while (attributes && attributes[node->attribute_count].name) {
        struct attribute *to = &network->attributes[index][node->attribute_count];
        assert(node->attribute_count < NETWORK_ATTRIBUTES);
        *to = attributes[node->attribute_count++];
        int64_t *copy = arena_array(&network->graph.arena, to->count, sizeof *copy);
        to->integers = to->integers ? memcpy(copy, to->integers, to->count * sizeof *copy) : NULL;
    }
    for (int i = 0; i < output_count; i++) {
        network->ports[index][1][i] = network_value(network, op);
    }
    return network->ports[index][1][0];
}

static inline int network_node(struct network *network, const char *op, const int *inputs,
                               const struct attribute *attributes) {
    return network_node_many(network, op, inputs, attributes, 1);
}

static inline void network_output(struct network *network, int value) {
    network->outputs[network->graph.output_count++] = value;
}
