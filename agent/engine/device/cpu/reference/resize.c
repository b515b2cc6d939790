// SPDX-License-Identifier: Apache-2.0
/* The operator Resize, and its gradient. */
#include "agent/engine/ops/infer/resize.h"

#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/reference.h"
#include "agent/engine/device/cpu/reference/walk.h"
#include "agent/engine/ops/infer/internal.h"
#include "agent/engine/ops/table.h"

#include <math.h>
#include <string.h>

/* The input pixels, `count` for each output pixel of one dimension, and their weights. */
struct taps {
    int count;
    int64_t *offsets; /* elements in the input */
    float *weights;
    bool *is_outside;
};

static void fill_taps(const struct resize *resize, const struct shape *x, int axis, int64_t stride,
                      struct arena *arena, struct taps *taps) {
    int64_t size = x->dims[axis], out = resize->output.dims[axis];
    bool is_same = out == size && resize->scales[axis] == 1 &&
                   (resize->coordinates != RESIZE_TF_CROP ||
                    (resize->roi_start[axis] == 0 && resize->roi_end[axis] == 1));
    taps->count = is_same || !resize->is_linear ? 1 : resize->is_cubic ? 4 : 2;
    taps->offsets = arena_array(arena, (size_t)(out * taps->count), sizeof *taps->offsets);
    taps->weights = arena_array(arena, (size_t)(out * taps->count), sizeof *taps->weights);
    taps->is_outside = arena_array(arena, (size_t)out, sizeof *taps->is_outside);
    for (int64_t i = 0; i < out; i++) {
        float source = resize_source(resize, x, axis, i);
        struct resize_pixel pixels[4] = {{i, 1}};
        if (!is_same) {
            taps->is_outside[i] = resize_is_outside(resize, source, size);
            source = taps->is_outside[i] ? 0 : source; /* it may be NaN */
            resize_pixels(resize, source, axis, size, pixels);
        }
        for (int k = 0; k < taps->count; k++) {
            taps->offsets[i * taps->count + k] = pixels[k].at * stride;
            taps->weights[i * taps->count + k] = pixels[k].weight;
        }
    }
}

/* Interpolates the value at output index `at`, dimension by dimension. */
static float sample(const float *x, const struct taps *taps, const int64_t *at, int rank) {
    if (rank == 0) {
        return *x;
    }
    int64_t first = at[0] * taps[0].count;
    if (taps[0].count == 1) {
        return sample(x + taps[0].offsets[first], taps + 1, at + 1, rank - 1);
    }
    float sum = 0;
    for (int k = 0; k < taps[0].count; k++) {
        float weight = taps[0].weights[first + k];
        if (weight != 0) {
            float value = sample(x + taps[0].offsets[first + k], taps + 1, at + 1, rank - 1);
            sum += weight * value;
        }
    }
    return sum;
}

/* The reverse, for gradients: adds the output's number to the input pixels that it was made
 * from. */
static void spread(float *x, const struct taps *taps, const int64_t *at, int rank, float value) {
    if (rank == 0) {
        *x += value;
        return;
    }
    int64_t first = at[0] * taps[0].count;
    for (int k = 0; k < taps[0].count; k++) {
        float weight = taps[0].weights[first + k];
        if (weight != 0) {
            spread(x + taps[0].offsets[first + k], taps + 1, at + 1, rank - 1, weight * value);
        }
    }
}

static bool is_outside(const struct taps *taps, const int64_t *at, int rank) {
    bool is = false;
    for (int i = 0; i < rank && !is; i++) {
        is = taps[i].is_outside[at[i]];
    }
    return is;
}

static void fill_all_taps(const struct resize *resize, const struct shape *x, struct arena *arena,
                          struct taps *taps) {
    int64_t strides[TENSOR_RANK_MAX];
    walk_plain_strides(x, strides);
    for (int i = 0; i < x->rank; i++) {
        fill_taps(resize, x, i, strides[i], arena, &taps[i]);
    }
}

static int resize_run(const struct call *call, struct error *err) {
    struct cpu_call_facts facts = {0};
    const struct shape *x = &call->inputs[0]->shape;
    struct resize resize;
    if (resize_params(call->node, cpu_call_collect_facts(call, &facts), &resize, err) < 0) {
        return -1;
    }
    struct arena arena = {0};
    struct taps taps[TENSOR_RANK_MAX];
    int64_t at[TENSOR_RANK_MAX] = {0};
    fill_all_taps(&resize, x, &arena, taps);
    float *y = call->outputs[0]->data;
    int64_t count = shape_count(&resize.output);
    for (int64_t n = 0; n < count; n++) {
        y[n] = is_outside(taps, at, x->rank) ? resize.extrapolation
                                             : sample(call->inputs[0]->data, taps, at, x->rank);
        walk_next(&resize.output, at);
    }
    arena_release(&arena);
    return 0;
}
const struct kernel reference_resize = {"reference resize", resize_run};

/* (dy, shape of x, the forward node's further inputs) */
static int resize_gradient_run(const struct call *call, struct error *err) {
    const struct tensor *dx = call->outputs[0];
    const struct shape *x = &dx->shape;
    const struct tensor *inputs[8] = {dx};
    const int inputs_max = (int)ARRAY_LEN(inputs);
    struct node forward = op_forward_node(call->node);
    forward.input_count = MIN(call->input_count - 1, inputs_max);
    for (int i = 1; i < forward.input_count; i++) {
        inputs[i] = call->inputs[i + 1];
    }
    const struct call whole = {.input_count = forward.input_count, .inputs = inputs};
    struct cpu_call_facts facts = {0};
    struct resize resize;
    if (resize_params(&forward, cpu_call_collect_facts(&whole, &facts), &resize, err) < 0) {
        return -1;
    }
    struct arena arena = {0};
    struct taps taps[TENSOR_RANK_MAX];
    int64_t at[TENSOR_RANK_MAX] = {0}, count = shape_count(&resize.output);
    fill_all_taps(&resize, x, &arena, taps);
    memset(dx->data, 0, (size_t)shape_count(x) * sizeof(float));
    for (int64_t n = 0; n < count; n++) {
        if (!is_outside(taps, at, x->rank)) {
            spread(dx->data, taps, at, x->rank, ((const float *)call->inputs[0]->data)[n]);
        }
        walk_next(&resize.output, at);
    }
    arena_release(&arena);
    return 0;
}
const struct kernel reference_resize_gradient = {"reference resize_gradient", resize_gradient_run};
