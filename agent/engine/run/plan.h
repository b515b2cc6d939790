/* plan.h: a network prepared for one combination of input shapes: schedule, kernels and where
 * every value is. Owned by a session, which lends it the block of memory. */
#pragma once

#include "agent/engine/device/kernel.h"
#include "agent/engine/graph/shape.h"
#include "agent/engine/training.h"

/* An output in memory of the caller's. */
struct plan_bound {
    bool is_bound;
    int slot;       /* that is there; -1: it is copied there behind the last step */
    size_t made_at; /* the step that completes it */
    void *memory;   /* of the device; NULL until plan_bind_output */
};

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
    void *
        *given; /* per input: device memory of the caller's; NULL: it is copied, or used in place */
    struct tensor *outputs;   /* host copies of outputs that are not in host memory of ours */
    struct plan_bound *bound; /* per output; NULL when none is bound */
    uint64_t last_used, run_count;
    double flops;
    double work;                 /* engine/ops/work.h */
    struct recording *recording; /* of the steps, from the second run on, where a device can */
    const void *recorded_block;  /* with this block of memory */
    bool is_unrecordable;
    bool is_steady; /* set by the caller: what is bound stays where it is, so runs are recorded */
};

NODISCARD int plan_new(struct device *device, const struct graph *graph,
                       const struct tensor *inputs, struct plan **ret_plan, struct error *err);
/* Likewise, with outputs that the caller gives memory for: is_bound has one entry per output. Such
 * an output is not copied to the host: plan_run gives the tensor in that memory. */
NODISCARD int plan_new_bound(struct device *device, const struct graph *graph,
                             const struct tensor *inputs, const bool *is_bound,
                             struct plan **ret_plan, struct error *err);
/* Before the first run. memory: as many bytes as the output's tensor, 64-byte aligned. */
void plan_bind_output(struct plan *plan, size_t output, void *memory);
/* Likewise an input that is in device memory: it is read there in every run, and nothing reads
 * inputs[input].data, which may be NULL, also in plan_new. An output of an elementwise step may be
 * bound to the same memory: it is changed in place. */
void plan_bind_input(struct plan *plan, size_t input, void *memory);
void plan_free(struct plan *plan);
bool plan_fits(const struct plan *plan, const struct tensor *inputs);

/* block: plan->schedule->block_bytes of device memory at least. */
NODISCARD int plan_run(struct plan *plan, void *block, const struct tensor *inputs,
                       struct tensor *outputs, struct error *err);
/* plan_run of a plan all of whose outputs are bound, but for waiting: the steps may still be
 * running when it returns. */
NODISCARD int plan_start(struct plan *plan, void *block, const struct tensor *inputs,
                         struct error *err);
NODISCARD int plan_run_hooked(struct plan *plan, void *block, const struct tensor *inputs,
                              struct tensor *outputs, const struct plan_hook *hook,
                              struct error *err);
