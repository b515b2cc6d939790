// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/axis/axis.h"

#include "agent/engine/ops/infer/reduce.h"
#include "agent/engine/ops/table.h"

#include <limits.h>

enum {
    INNER_MIN = 8, /* with fewer columns the plain loops are as fast */
};

/* ---- choice ---------------------------------------------------------------------------------- */

static bool takes_softmax(const struct schedule *schedule, const struct step *step) {
    const struct schedule_slot *x = &schedule->slots[step->inputs[0]];
    struct softmax softmax;
    struct error err = {0};
    if (softmax_params(step->node, &x->shape, &softmax, &err) < 0) {
        error_clear(&err);
        return false;
    }
    return x->type == TENSOR_FLOAT32 && softmax.inner >= INNER_MIN;
}

static bool takes_reduce(const struct schedule *schedule, const struct step *step) {
    struct around around;
    return schedule->slots[step->inputs[0]].type == TENSOR_FLOAT32 &&
           axis_reduce_around(schedule, step, &around) && around.inner >= INNER_MIN;
}

static bool takes_floats(const struct schedule *schedule, const struct step *step) {
    return schedule->slots[step->inputs[0]].type == TENSOR_FLOAT32;
}

static bool takes_cast(const struct schedule *schedule, const struct step *step) {
    return axis_cast_has(schedule->slots[step->inputs[0]].type,
                         schedule->slots[step->outputs[0]].type);
}

static bool takes_all(const struct schedule *schedule UNUSED, const struct step *step UNUSED) {
    return true;
}

/* Indices of elements and of stripes are ints; kernels divide by sizes. */
static bool has_elements(const struct schedule *schedule, const struct step *step) {
    int64_t in = step->inputs[0] < 0 ? 0 : shape_count(&schedule->slots[step->inputs[0]].shape);
    bool has = in > 0 && in <= INT_MAX;
    for (int i = 0; i < step->output_count && has; i++) {
        int64_t out =
            step->outputs[i] < 0 ? 1 : shape_count(&schedule->slots[step->outputs[i]].shape);
        has = out > 0 && out <= INT_MAX;
    }
    return has;
}

static const struct choice {
    int op;
    const struct kernel *kernel;
    bool (*takes)(const struct schedule *schedule, const struct step *step);
} choices[] = {
    {OP_SOFTMAX, &axis_softmax, takes_softmax},
    {OP_LOG_SOFTMAX, &axis_softmax, takes_softmax},
    {OP_REDUCE_SUM, &axis_reduce, takes_reduce},
    {OP_REDUCE_MEAN, &axis_reduce, takes_reduce},
    {OP_REDUCE_MAX, &axis_reduce, takes_reduce},
    {OP_REDUCE_MIN, &axis_reduce, takes_reduce},
    {OP_REDUCE_L1, &axis_reduce, takes_reduce},
    {OP_REDUCE_L2, &axis_reduce, takes_reduce},
    {OP_REDUCE_SUM_SQUARE, &axis_reduce, takes_reduce},
    {OP_ARG_MAX, &axis_arg_max, takes_floats},
    {OP_ARG_MIN, &axis_arg_max, takes_floats},
    {OP_TOP_K, &axis_top_k, takes_floats},
    {OP_CAST, &axis_cast, takes_cast},
    {OP_QUANTIZE_LINEAR, &axis_quantize, axis_quantize_takes},
    {OP_DEQUANTIZE_LINEAR, &axis_quantize, axis_quantize_takes},
    {OP_PAD, &axis_pad, axis_pad_takes},
    {OP_TRANSPOSE, &axis_copy, takes_all},
    {OP_SLICE, &axis_copy, takes_all},
    {OP_EXPAND, &axis_copy, takes_all},
    {OP_DEPTH_TO_SPACE, &axis_copy, takes_all},
    {OP_SPACE_TO_DEPTH, &axis_copy, takes_all},
    {OP_MOVE_GRADIENT, &axis_copy_back, axis_copy_back_takes},
    {OP_MOVE_GRADIENT, &axis_gather_back, axis_gather_back_takes},
};

void axis_step_try(const struct schedule *schedule, struct step *step) {
    for (size_t i = 0; i < ARRAY_LEN(choices); i++) {
        const struct choice *choice = &choices[i];
        if (choice->op == step->node->op->id && has_elements(schedule, step) &&
            choice->takes(schedule, step)) {
            step->kernel = choice->kernel;
        }
    }
}
