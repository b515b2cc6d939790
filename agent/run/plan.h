/* plan.h: a network prepared for one combination of input shapes: schedule, kernels and where
 * every value lies. Owned by a session, which lends it the block of memory. */
#pragma once

#include "agent/device/device.h"
#include "agent/graph/shape.h"

struct plan {
    struct device *device;
    const struct graph *graph;
    struct schedule *schedule;
    struct arena arena;
    struct shape *input_shapes; /* as many as the graph has inputs */
    /* Where shapes follow from the values of small inputs (the shape of a Reshape, say), the plan
     * holds for these values only; NULL otherwise. One copy per input, NULL for large ones. */
    const void **input_values;
    struct tensor *tensors; /* one per slot: what kernels see */
    struct call *calls;     /* one per step */
    void **owned; /* per slot: device memory of constants and inputs; NULL on host devices */
    struct tensor *outputs; /* host copies of outputs that do not lie in host memory of ours */
    uint64_t last_used;
    double flops;
};

NODISCARD int plan_new(struct device *device, const struct graph *graph,
                       const struct tensor *inputs, struct plan **ret_plan, struct error *err);
void plan_free(struct plan *plan);
bool plan_fits(const struct plan *plan, const struct tensor *inputs);

/* block: plan->schedule->block_bytes of device memory at least. */
NODISCARD int plan_run(struct plan *plan, void *block, const struct tensor *inputs,
                       struct tensor *outputs, struct error *err);
