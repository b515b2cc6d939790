// SPDX-License-Identifier: Apache-2.0
/* Pools over windows, and global pools. */
#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/reference.h"
#include "agent/engine/ops/infer/window.h"

#include <math.h>

struct pool {
    struct window window;
    bool is_max, counts_pads;
    bool is_by_column; /* indices are column-major: the last dimension but one is the innermost */
    const void *x;
    void *y;
    int64_t *indices; /* NULL: not wanted */
    int64_t x_plane, y_plane;
};

/* The index of a pixel in a plane, according to the attribute storage_order. */
static int64_t index_of(const struct pool *pool, int64_t at) {
    int64_t rows = pool->window.in[1], columns = pool->window.in[2];
    if (!pool->is_by_column || at < 0) {
        return MAX(at, 0);
    }
    int64_t sample = at / (rows * columns), row = at / columns % rows, column = at % columns;
    return (sample * columns + column) * rows + row;
}

#define REAL float
#define LEAST (-INFINITY)
#define NAMED(name) name##_float
#include "agent/engine/device/cpu/reference/pool.inc"
#define REAL double
#define NAMED(name) name##_double
#include "agent/engine/device/cpu/reference/pool.inc"
#undef LEAST
#define REAL int8_t
#define LEAST INT8_MIN
#define NAMED(name) name##_int8
#include "agent/engine/device/cpu/reference/pool.inc"
#undef LEAST
#define REAL uint8_t
#define LEAST 0
#define NAMED(name) name##_uint8
#include "agent/engine/device/cpu/reference/pool.inc"

static int pool_run(const struct call *call, struct error *err) {
    static threads_body *const bodies[TENSOR_TYPE_COUNT] = {[TENSOR_FLOAT32] = pool_body_float,
                                                            [TENSOR_FLOAT64] = pool_body_double,
                                                            [TENSOR_INT8] = pool_body_int8,
                                                            [TENSOR_UINT8] = pool_body_uint8};
    struct cpu_call_facts facts = {0};
    const struct tensor *x = call->inputs[0];
    const struct tensor *indices = call->output_count > 1 ? call->outputs[1] : NULL;
    struct pool pool = {.is_max = call->node->op->id != OP_AVERAGE_POOL,
                        .counts_pads = node_integer(call->node, "count_include_pad", 0),
                        .is_by_column = node_integer(call->node, "storage_order", 0),
                        .x = x->data,
                        .y = call->outputs[0] ? call->outputs[0]->data : NULL,
                        .indices = indices ? indices->data : NULL};
    if (window_of_pool(call->node, cpu_call_collect_facts(call, &facts), &pool.window, err) < 0) {
        return -1;
    }
    pool.x_plane = pool.window.in[0] * pool.window.in[1] * pool.window.in[2];
    pool.y_plane = pool.window.out[0] * pool.window.out[1] * pool.window.out[2];
    threads_run(cpu_threads(call), x->shape.dims[0] * x->shape.dims[1], 1, bodies[x->type], &pool);
    return 0;
}
const struct kernel reference_pool = {"reference pool", pool_run};

#define GLOBAL_POOL(type)                                                                          \
    for (int64_t plane = 0; plane < planes; plane++) {                                             \
        const type *x = (const type *)call->inputs[0]->data + plane * pixels;                      \
        double sum = 0, most = -INFINITY;                                                          \
        for (int64_t i = 0; i < pixels; i++) {                                                     \
            double value = (double)x[i];                                                           \
            sum += value;                                                                          \
            most = value > most || isnan(value) ? value : most;                                    \
        }                                                                                          \
        ((type *)y)[plane] = (type)(is_max ? most : sum / (double)pixels);                         \
    }

static int global_pool_run(const struct call *call, struct error *err UNUSED) {
    const struct shape *shape = &call->inputs[0]->shape;
    void *y = call->outputs[0]->data;
    bool is_max = call->node->op->id == OP_GLOBAL_MAX_POOL;
    int64_t planes = shape->dims[0] * shape->dims[1];
    int64_t pixels = planes ? shape_count(shape) / planes : 0;
    if (call->inputs[0]->type == TENSOR_FLOAT64) {
        GLOBAL_POOL(double)
    } else {
        GLOBAL_POOL(float)
    }
    return 0;
}
const struct kernel reference_global_pool = {"reference global_pool", global_pool_run};
