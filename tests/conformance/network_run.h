/* network_run.h: runs a network.h on a device, with inputs from a seed. */
#pragma once

#include "agent/engine/ops/rewrite/rewrite.h"
#include "tests/conformance/network.h"

/* Repeatable numbers within the range, of any type. */
static inline void network_draw(struct tensor *tensor, const struct network_range *range,
                                uint32_t seed) {
    static const double odd[] = {INFINITY, -INFINITY, NAN};
    int64_t count = shape_count(&tensor->shape);
    double low = range->low, high = range->high;
    uint32_t state = seed * 2654435761u + 1;
    if (low == 0 && high == 0) {
        low = -1;
        high = 1;
    }
    for (int64_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        double value = low + (high - low) * ((double)state * 0x1p-32);
        value = tensor_type_is_real(tensor->type) ? value : floor(value);
        value = range->is_odd && i % 5 == 2 ? odd[i / 5 % 3] : value;
        if (range->rounds_to != TENSOR_FLOAT32) {
            uint64_t bits;
            struct tensor one = {.type = range->rounds_to, .data = &bits};
            tensor_put_number(&one, 0, value);
            value = tensor_number(&one, 0);
        }
        tensor_put_number(tensor, i, value);
    }
}

/* Runs this graph of the network on a device with inputs from `seed`; output 0 is copied to
 * *ret_output (owned). */
static inline int network_run_graph(struct network *network, struct graph *graph,
                                    struct device *device, uint32_t seed, struct tensor *ret_output,
                                    struct error *err) {
    struct tensor inputs[NETWORK_PORTS] = {0}, outputs[NETWORK_PORTS] = {0};
    struct execution_plan *plan = NULL;
    void *block = NULL;
    int result = 0;
    for (size_t i = 0; result == 0 && i < network->graph.input_count; i++) {
        struct value *value = &network->values[network->inputs[i]];
        result = tensor_init(&inputs[i], value->type, &value->shape, err);
        if (result == 0) {
            network_draw(&inputs[i], &network->ranges[network->inputs[i]], seed + (uint32_t)i);
        }
    }
    result = result < 0 ? -1 : execution_plan_new(device, graph, inputs, &plan, err);
    result = result < 0 ? -1 : device->ops->alloc(device, plan->schedule->block_bytes, &block, err);
    /* Run twice, to find a kernel that leaves state behind. */
    result = result < 0 ? -1 : execution_plan_run(plan, block, inputs, outputs, NULL, err);
    result = result < 0 ? -1 : execution_plan_run(plan, block, inputs, outputs, NULL, err);
    result = result < 0 ? -1 : tensor_init(ret_output, outputs[0].type, &outputs[0].shape, err);
    if (result == 0) {
        memcpy(ret_output->data, outputs[0].data,
               (size_t)shape_count(&outputs[0].shape) * tensor_type_size(outputs[0].type));
    }
    execution_plan_free(plan);
    if (block) {
        device->ops->free(device, block);
    }
    for (int i = 0; i < NETWORK_PORTS; i++) {
        tensor_release(&inputs[i]);
    }
    return result;
}

/* The same for the graph that is rewritten, as sessions run it. */
static inline int network_run(struct network *network, struct device *device, uint32_t seed,
                              struct tensor *ret_output, struct error *err) {
    struct graph graph = {0};
    int result = rewrite_graph(&network->graph, &graph, err);
    result = result < 0 ? -1 : network_run_graph(network, &graph, device, seed, ret_output, err);
    graph_release(&graph);
    return result;
}
