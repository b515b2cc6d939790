// SPDX-License-Identifier: Apache-2.0
#include "agent/ops/resize.h"

#include "agent/device/cpu/cpu.h"
#include "agent/device/cpu/reference.h"
#include "agent/device/cpu/rows.h"
#include "agent/ops/internal.h"

#include <math.h>
#include <string.h>

/* Where each output pixel of one dimension comes from: (1 - weight) * low + weight * high. */
struct taps {
    int64_t *low, *high; /* element offsets in the input */
    float *weight;
};

static void fill_taps(const struct resize *resize, const struct shape *x, int axis, int64_t stride,
                      struct taps *taps) {
    int64_t size = x->dims[axis];
    for (int64_t i = 0; i < resize->output.dims[axis]; i++) {
        float source = resize_source(resize, x, axis, i);
        int64_t low, high;
        taps->weight[i] = 0;
        if (resize->output.dims[axis] == size && resize->scales[axis] == 1) {
            low = high = i;
        } else if (resize->is_linear) {
            source = fmaxf(0, fminf(source, (float)(size - 1)));
            low = MIN((int64_t)source, size - 1);
            high = MIN(low + 1, size - 1);
            taps->weight[i] = source - (float)low;
        } else {
            low = high = resize_nearest_pixel(resize, source, resize->scales[axis], size);
        }
        taps->low[i] = low * stride;
        taps->high[i] = high * stride;
    }
}

/* The value at output index `at`: dimension by dimension, two neighbours each. */
static float sample(const float *x, const struct taps *taps, const int64_t *at, int rank) {
    if (rank == 0) {
        return *x;
    }
    const struct taps *first = &taps[0];
    float weight = first->weight[at[0]];
    float low = sample(x + first->low[at[0]], taps + 1, at + 1, rank - 1);
    if (weight == 0) {
        return low;
    }
    float high = sample(x + first->high[at[0]], taps + 1, at + 1, rank - 1);
    return low + weight * (high - low);
}

/* The other way: adds the output's number to the pixels it was made of. */
static void spread(float *x, const struct taps *taps, const int64_t *at, int rank, float value) {
    if (rank == 0) {
        *x += value;
        return;
    }
    const struct taps *first = &taps[0];
    float weight = first->weight[at[0]];
    spread(x + first->low[at[0]], taps + 1, at + 1, rank - 1, (1 - weight) * value);
    if (weight != 0) {
        spread(x + first->high[at[0]], taps + 1, at + 1, rank - 1, weight * value);
    }
}

static void fill_all_taps(const struct resize *resize, const struct shape *x, struct arena *arena,
                          struct taps *taps) {
    int64_t strides[TENSOR_RANK_MAX];
    rows_plain_strides(x, strides);
    for (int i = 0; i < x->rank; i++) {
        size_t size = (size_t)resize->output.dims[i];
        taps[i].low = arena_array(arena, size, sizeof(int64_t));
        taps[i].high = arena_array(arena, size, sizeof(int64_t));
        taps[i].weight = arena_array(arena, size, sizeof(float));
        fill_taps(resize, x, i, strides[i], &taps[i]);
    }
}

static int resize_run(const struct call *call, struct error *err) {
    struct call_facts facts = {0};
    const struct shape *x = &call->inputs[0]->shape;
    struct resize resize;
    if (resize_params(call->node, call_facts(call, &facts), &resize, err) < 0) {
        return -1;
    }
    struct arena arena = {0};
    struct taps taps[TENSOR_RANK_MAX];
    int64_t at[TENSOR_RANK_MAX] = {0};
    fill_all_taps(&resize, x, &arena, taps);
    float *y = call->outputs[0]->data;
    int64_t count = shape_count(&resize.output);
    for (int64_t n = 0; n < count; n++) {
        y[n] = sample(call->inputs[0]->data, taps, at, x->rank);
        for (int i = x->rank - 1; i >= 0 && ++at[i] == resize.output.dims[i]; i--) {
            at[i] = 0;
        }
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
    struct node forward = internal_forward(call->node);
    forward.input_count = MIN(call->input_count - 1, inputs_max);
    for (int i = 1; i < forward.input_count; i++) {
        inputs[i] = call->inputs[i + 1];
    }
    const struct call whole = {.input_count = forward.input_count, .inputs = inputs};
    struct call_facts facts = {0};
    struct resize resize;
    if (resize_params(&forward, call_facts(&whole, &facts), &resize, err) < 0) {
        return -1;
    }
    struct arena arena = {0};
    struct taps taps[TENSOR_RANK_MAX];
    int64_t at[TENSOR_RANK_MAX] = {0}, count = shape_count(&resize.output);
    fill_all_taps(&resize, x, &arena, taps);
    memset(dx->data, 0, (size_t)shape_count(x) * sizeof(float));
    for (int64_t n = 0; n < count; n++) {
        spread(dx->data, taps, at, x->rank, ((const float *)call->inputs[0]->data)[n]);
        for (int i = x->rank - 1; i >= 0 && ++at[i] == resize.output.dims[i]; i--) {
            at[i] = 0;
        }
    }
    arena_release(&arena);
    return 0;
}
const struct kernel reference_resize_gradient = {"reference resize_gradient", resize_gradient_run};
