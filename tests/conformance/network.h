/* network.h: small networks built in memory, for the device suite. */
#pragma once

#include "agent/device/registry.h"
#include "agent/ops/table.h"
#include "agent/run/plan.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NETWORK_VALUES = 96, NETWORK_NODES = 32, NETWORK_PORTS = 8 };

struct network {
    struct graph graph;
    struct value values[NETWORK_VALUES];
    struct node nodes[NETWORK_NODES];
    int inputs[NETWORK_VALUES], outputs[NETWORK_VALUES];
    int ports[NETWORK_NODES][2][NETWORK_PORTS];
    struct attribute attributes[NETWORK_NODES][NETWORK_PORTS];
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
    *to = (struct value){name, tensor.type, tensor.shape, true, false, true, tensor};
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
 * copied. Returns the output. */
static inline int network_node(struct network *network, const char *op, const int *inputs,
                               const struct attribute *attributes) {
    size_t index = network->graph.node_count++;
    struct node *node = &network->nodes[index];
    assert(index < NETWORK_NODES);
    *node = (struct node){.op = table_find(op, network->opset),
                          .name = op,
                          .opset = network->opset,
                          .output_count = 1,
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
        *to = attributes[node->attribute_count++];
        int64_t *copy = arena_array(&network->graph.arena, to->count, sizeof *copy);
        to->integers = to->integers ? memcpy(copy, to->integers, to->count * sizeof *copy) : NULL;
    }
    network->ports[index][1][0] = network_value(network, op);
    return network->ports[index][1][0];
}

static inline void network_output(struct network *network, int value) {
    network->outputs[network->graph.output_count++] = value;
}

/* Runs on a device with inputs from `seed`; output 0 is copied to *ret_output (owned). */
static inline int network_run(struct network *network, struct device *device, uint32_t seed,
                              struct tensor *ret_output, struct error *err) {
    struct tensor inputs[NETWORK_PORTS] = {0}, outputs[NETWORK_PORTS] = {0};
    struct plan *plan = NULL;
    void *block = NULL;
    int result = 0;
    for (size_t i = 0; result == 0 && i < network->graph.input_count; i++) {
        struct value *value = &network->values[network->inputs[i]];
        result = tensor_init(&inputs[i], TENSOR_FLOAT32, &value->shape, err);
        network_fill(&inputs[i], seed + (uint32_t)i);
    }
    result = result < 0 ? -1 : plan_new(device, &network->graph, inputs, &plan, err);
    result = result < 0 ? -1 : device->ops->alloc(device, plan->schedule->block_bytes, &block, err);
    /* Twice: a kernel that leaves something behind shows. */
    result = result < 0 ? -1 : plan_run(plan, block, inputs, outputs, err);
    result = result < 0 ? -1 : plan_run(plan, block, inputs, outputs, err);
    result = result < 0 ? -1 : tensor_init(ret_output, outputs[0].type, &outputs[0].shape, err);
    if (result == 0) {
        memcpy(ret_output->data, outputs[0].data,
               (size_t)shape_count(&outputs[0].shape) * tensor_type_size(outputs[0].type));
    }
    plan_free(plan);
    if (block) {
        device->ops->free(device, block);
    }
    for (int i = 0; i < NETWORK_PORTS; i++) {
        tensor_release(&inputs[i]);
    }
    return result;
}
