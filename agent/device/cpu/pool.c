// SPDX-License-Identifier: Apache-2.0
#include "agent/device/cpu/cpu.h"
#include "agent/device/cpu/reference.h"
#include "agent/device/cpu/windows.h"

#include <math.h>

struct pool {
    struct window window;
    bool is_max, counts_pads;
    const float *x;
    float *y;
    int64_t x_plane, y_plane;
};

struct span window_span(const struct window *window, int dim, int64_t o) {
    int64_t dilation = window->dilation[dim];
    int64_t start = o * window->stride[dim] - window->pad_begin[dim];
    int64_t end = start + (window->kernel[dim] - 1) * dilation + 1;
    int64_t padded_end = MIN(end, window->in[dim] + window->pad_end[dim]);
    if (dilation == 1) { /* divisions take longer than a small window */
        return (struct span){MAX(start, 0), MIN(end, window->in[dim]), padded_end - start};
    }
    return (struct span){start < 0 ? start + (-start + dilation - 1) / dilation * dilation : start,
                         MIN(end, window->in[dim]), (padded_end - start + dilation - 1) / dilation};
}

static float pool_one(const struct pool *pool, const float *x, const struct span *spans) {
    const struct window *window = &pool->window;
    float sum = 0, most = -INFINITY;
    int64_t seen = 0;
    for (int64_t d = spans[0].first; d < spans[0].last; d += window->dilation[0]) {
        for (int64_t h = spans[1].first; h < spans[1].last; h += window->dilation[1]) {
            for (int64_t v = spans[2].first; v < spans[2].last; v += window->dilation[2]) {
                float value = x[(d * window->in[1] + h) * window->in[2] + v];
                most = value > most || isnan(value) ? value : most;
                sum += value;
                seen++;
            }
        }
    }
    /* A hostile kernel's cells may exceed any integer. */
    double count = pool->counts_pads
                       ? (double)spans[0].cells * (double)spans[1].cells * (double)spans[2].cells
                       : (double)seen;
    return pool->is_max ? most : count > 0 ? (float)(sum / count) : 0;
}

static void pool_body(void *context, int64_t first, int64_t last) {
    const struct pool *pool = context;
    const int64_t *out = pool->window.out;
    for (int64_t plane = first; plane < last; plane++) {
        const float *x = pool->x + plane * pool->x_plane;
        float *y = pool->y + plane * pool->y_plane;
        struct span spans[WINDOW_RANK];
        for (int64_t d = 0; d < out[0]; d++) {
            spans[0] = window_span(&pool->window, 0, d);
            for (int64_t h = 0; h < out[1]; h++) {
                spans[1] = window_span(&pool->window, 1, h);
                for (int64_t v = 0; v < out[2]; v++) {
                    spans[2] = window_span(&pool->window, 2, v);
                    *y++ = pool_one(pool, x, spans);
                }
            }
        }
    }
}

static int pool_run(const struct call *call, struct error *err) {
    struct call_facts facts = {0};
    const struct shape *x = &call->inputs[0]->shape;
    struct pool pool = {.is_max = call->node->op->id == OP_MAX_POOL,
                        .counts_pads = node_integer(call->node, "count_include_pad", 0),
                        .x = call->inputs[0]->data,
                        .y = call->outputs[0]->data};
    if (pool_window(call->node, call_facts(call, &facts), &pool.window, err) < 0) {
        return -1;
    }
    pool.x_plane = pool.window.in[0] * pool.window.in[1] * pool.window.in[2];
    pool.y_plane = pool.window.out[0] * pool.window.out[1] * pool.window.out[2];
    threads_run(cpu_threads(call), x->dims[0] * x->dims[1], 1, pool_body, &pool);
    return 0;
}
const struct kernel reference_pool = {"reference pool", pool_run};

static int global_pool_run(const struct call *call, struct error *err UNUSED) {
    const struct shape *shape = &call->inputs[0]->shape;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    bool is_max = call->node->op->id == OP_GLOBAL_MAX_POOL;
    int64_t planes = shape->dims[0] * shape->dims[1];
    int64_t pixels = planes ? shape_count(shape) / planes : 0;
    for (int64_t plane = 0; plane < planes; plane++) {
        double sum = 0;
        float most = -INFINITY;
        for (int64_t i = 0; i < pixels; i++, x++) {
            sum += (double)*x;
            most = *x > most || isnan(*x) ? *x : most;
        }
        y[plane] = is_max ? most : (float)(sum / (double)pixels);
    }
    return 0;
}
const struct kernel reference_global_pool = {"reference global_pool", global_pool_run};
