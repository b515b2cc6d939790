/* execution_plan.h: a network prepared for one combination of input shapes: schedule, kernels, and
 * the address of every value. A session or training owns it and provides the block of memory. */
#pragma once

#include "agent/engine/device/kernel.h"
#include "agent/engine/graph/shape_infer.h"
#include "agent/engine/training.h"

/* An output in the caller's memory. */
struct execution_plan_bound {
    bool is_bound;
    int slot; /* in that memory; -1: none, the output is copied after the last step */
    size_t ready_after_step; /* the step that completes it */
    void *memory;            /* device memory; NULL before execution_plan_bind_output */
};

struct execution_plan {
    struct device *device;
    struct graph *graph;
    struct schedule *schedule;
    struct arena arena;
    struct shape *input_shapes; /* one per input of the graph */
    /* If shapes depend on the values of small inputs (such as the shape of a Reshape), the plan is
     * valid only for these values; otherwise NULL. One copy per input, NULL for large inputs. */
    const void **input_values;
    struct tensor *tensors; /* one per slot: what kernels see */
    struct call *calls;     /* one per step */
    void **owned; /* per slot: device memory of constants and inputs; NULL on host devices */
    /* Per input: device memory of the caller. NULL: the input is copied, or used in place. */
    void **given;
    struct tensor *outputs; /* host copies of outputs that are not in the plan's host memory */
    struct execution_plan_bound *bound; /* per output; NULL if none is bound */
    uint64_t last_used, run_count;
    double flops;
    double work;                 /* of one run, in steps of a plain loop: engine/ops/cost.h */
    struct recording *recording; /* of the steps; made in the second run if the device can */
    const void *recorded_block;  /* the block of memory that it uses */
    bool is_unrecordable;
    bool is_steady; /* set by the caller: bound memory keeps its address, so runs are recorded */
};

NODISCARD int execution_plan_new(struct device *device, struct graph *graph,
                                 const struct tensor *inputs, struct execution_plan **ret_plan,
                                 struct error *err);
/* As execution_plan_new, with outputs in memory that the caller provides: is_bound has one entry
 * per output. Such an output is not copied to the host: the tensor that execution_plan_run returns
 * is in that memory. */
NODISCARD int execution_plan_new_bound(struct device *device, struct graph *graph,
                                       const struct tensor *inputs, const bool *is_bound,
                                       struct execution_plan **ret_plan, struct error *err);
/* To be called before the first run. memory: of the size of the output's tensor, 64-byte
 * aligned. */
void execution_plan_bind_output(struct execution_plan *plan, size_t output, void *memory);
/* To be called before the first run, for an input in device memory, which is read there in every
 * run. inputs[input].data is not read and may be NULL, also in execution_plan_new. An output of an
 * elementwise step may be bound to the same memory: then it is updated in place. */
void execution_plan_bind_input(struct execution_plan *plan, size_t input, void *memory);
void execution_plan_free(struct execution_plan *plan);
bool execution_plan_fits(const struct execution_plan *plan, const struct tensor *inputs);

/* Runs all steps and waits for them. block: device memory of at least plan->schedule->block_bytes.
 * outputs: bound ones are in the caller's memory, the others in host memory of the plan, valid
 * until its next run. hook: called after each step was started; NULL: none. */
NODISCARD int execution_plan_run(struct execution_plan *plan, void *block,
                                 const struct tensor *inputs, struct tensor *outputs,
                                 const struct training_hook *hook, struct error *err);
/* Like execution_plan_run, for a plan with all outputs bound, but without waiting: the steps may
 * still be running when it returns. */
NODISCARD int execution_plan_start(struct execution_plan *plan, void *block,
                                   const struct tensor *inputs, struct error *err);
