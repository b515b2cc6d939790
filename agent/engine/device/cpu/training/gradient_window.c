// SPDX-License-Identifier: Apache-2.0
/* Gradients of convolutions, transposed ones and pools. One thread computes each number in a fixed
 * order, so results do not depend on the number of threads.
 *
 * A convolution computes the small activation from the large one: weight k connects pixel o of the
 * small activation with pixel o * stride + k * dilation - pad of the large one. A transposed
 * convolution goes in the other direction with the same weights [small channels, large channels of
 * a group, ...], so both share these loops. */
#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/reference.h"
#include "agent/engine/ops/infer/internal.h"
#include "agent/engine/ops/infer/window.h"
#include "agent/engine/ops/table.h"

#include <math.h>
#include <string.h>

struct conv_gradient {
    struct window window; /* in: the large activation, out: the small one */
    bool is_transposed;   /* x is the small activation, dy the large one */
    int64_t batch, small_channels, large_channels;
    int64_t small_plane, large_plane, taps;
    const float *w, *dy;        /* w: NULL if its gradient is computed */
    const float *small, *large; /* for the gradient of the weights */
    float *dx, *dw, *dbias;
};

/* The rectangle of small pixels that a tap covers, and the first large pixel of each row. */
struct tap {
    int64_t first[WINDOW_RANK], last[WINDOW_RANK], shift[WINDOW_RANK];
};

static void find_tap(const struct window *window, int64_t index, struct tap *ret_tap) {
    for (int i = WINDOW_RANK - 1; i >= 0; i--) {
        int64_t k = index % window->kernel[i];
        index /= window->kernel[i];
        window_covered(window, i, k, &ret_tap->first[i], &ret_tap->last[i]);
        ret_tap->shift[i] = k * window->dilation[i] - window->pad_begin[i];
    }
}

/* Processes a row of small pixels and its row of large pixels, which are `stride` apart. */
typedef double pair_rows(void *small, void *large, int64_t stride, int64_t count, float weight);

static double small_from_large(void *small, void *large, int64_t stride, int64_t count,
                               float weight) {
    float *to = small;
    const float *from = large;
    for (int64_t i = 0; i < count; i++) {
        to[i] += weight * from[i * stride];
    }
    return 0;
}

static double large_from_small(void *small, void *large, int64_t stride, int64_t count,
                               float weight) {
    const float *from = small;
    float *to = large;
    for (int64_t i = 0; i < count; i++) {
        to[i * stride] += weight * from[i];
    }
    return 0;
}

static double multiply(void *small, void *large, int64_t stride, int64_t count,
                       float weight UNUSED) {
    const float *a = small, *b = large;
    float sum = 0;
    if (stride == 1) {
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < count; i++) {
            sum += a[i] * b[i];
        }
        return (double)sum;
    }
    for (int64_t i = 0; i < count; i++) {
        sum += a[i] * b[i * stride];
    }
    return (double)sum;
}

static double each_row(const struct window *window, const struct tap *tap, void *small, void *large,
                       float weight, pair_rows *pair) {
    double sum = 0;
    int64_t count = tap->last[2] - tap->first[2];
    for (int64_t d = tap->first[0]; d < tap->last[0] && count > 0; d++) {
        for (int64_t h = tap->first[1]; h < tap->last[1]; h++) {
            int64_t row = (d * window->stride[0] + tap->shift[0]) * window->in[1] +
                          h * window->stride[1] + tap->shift[1];
            int64_t column = tap->first[2] * window->stride[2] + tap->shift[2];
            int64_t at = (d * window->out[1] + h) * window->out[2] + tap->first[2];
            sum += pair((float *)small + at, (float *)large + row * window->in[2] + column,
                        window->stride[2], count, weight);
        }
    }
    return sum;
}

/* Computes channels first..last - 1 of dx, counted over all samples. */
static void input_body(void *context, int64_t first, int64_t last) {
    const struct conv_gradient *g = context;
    int64_t groups = g->window.groups;
    int64_t small = g->small_channels / groups, large = g->large_channels / groups;
    int64_t mine = g->is_transposed ? g->small_channels : g->large_channels;
    int64_t others = g->is_transposed ? large : small;
    int64_t plane = g->is_transposed ? g->small_plane : g->large_plane;
    int64_t other_plane = g->is_transposed ? g->large_plane : g->small_plane;
    for (int64_t index = first; index < last; index++) {
        int64_t n = index / mine, c = index % mine;
        int64_t group = c / (mine / groups), within = c % (mine / groups);
        float *dx = g->dx + index * plane;
        memset(dx, 0, (size_t)plane * sizeof *dx);
        for (int64_t o = 0; o < others; o++) {
            int64_t other = group * others + o;
            const float *dy = g->dy + (n * others * groups + other) * other_plane;
            const float *w =
                g->w + (g->is_transposed ? c * large + o : other * large + within) * g->taps;
            for (int64_t k = 0; k < g->taps; k++) {
                struct tap tap;
                find_tap(&g->window, k, &tap);
                void *small_at = g->is_transposed ? dx : (float *)(uintptr_t)dy;
                void *large_at = g->is_transposed ? (float *)(uintptr_t)dy : dx;
                each_row(&g->window, &tap, small_at, large_at, w[k],
                         g->is_transposed ? small_from_large : large_from_small);
            }
        }
    }
}

/* Computes kernels first..last - 1 of dw: index = small channel * large channels of a group + large
 * channel. */
static void weights_body(void *context, int64_t first, int64_t last) {
    const struct conv_gradient *g = context;
    int64_t large = g->large_channels / g->window.groups;
    int64_t small = g->small_channels / g->window.groups;
    for (int64_t index = first; index < last; index++) {
        int64_t s = index / large, l = s / small * large + index % large;
        for (int64_t k = 0; k < g->taps; k++) {
            struct tap tap;
            double sum = 0;
            find_tap(&g->window, k, &tap);
            for (int64_t n = 0; n < g->batch; n++) {
                const float *a = g->small + (n * g->small_channels + s) * g->small_plane;
                const float *b = g->large + (n * g->large_channels + l) * g->large_plane;
                sum += each_row(&g->window, &tap, (float *)(uintptr_t)a, (float *)(uintptr_t)b, 0,
                                multiply);
            }
            g->dw[index * g->taps + k] = (float)sum;
        }
    }
}

static void bias_body(void *context, int64_t first, int64_t last) {
    const struct conv_gradient *g = context;
    int64_t channels = g->is_transposed ? g->large_channels : g->small_channels;
    int64_t plane = g->is_transposed ? g->large_plane : g->small_plane;
    for (int64_t c = first; c < last; c++) {
        double sum = 0;
        for (int64_t n = 0; n < g->batch; n++) {
            const float *dy = g->dy + (n * channels + c) * plane;
            for (int64_t i = 0; i < plane; i++) {
                sum += (double)dy[i];
            }
        }
        g->dbias[c] = (float)sum;
    }
}

/* Reads the parameters, given the shapes of the forward x and w. */
static int read_conv(const struct call *call, const struct shape *x, const struct shape *w,
                     struct conv_gradient *g, struct error *err) {
    struct node forward = op_forward_node(call->node);
    const struct fact facts[] = {{TENSOR_FLOAT32, *x, NULL}, {TENSOR_FLOAT32, *w, NULL}};
    const struct fact *inputs[] = {&facts[0], &facts[1]};
    forward.input_count = 2;
    *g = (struct conv_gradient){.is_transposed = forward.op->id == OP_CONV_TRANSPOSE};
    struct window *window = &g->window;
    if ((g->is_transposed ? window_of_conv_transpose(&forward, inputs, window, err)
                          : window_of_conv(&forward, inputs, window, err)) < 0) {
        return -1;
    }
    for (int i = 0; i < WINDOW_RANK && g->is_transposed; i++) {
        int64_t small = window->in[i];
        window->in[i] = window->out[i];
        window->out[i] = small;
    }
    g->batch = x->dims[0];
    g->small_channels = w->dims[0];
    g->large_channels = w->dims[1] * window->groups;
    g->taps = window->kernel[0] * window->kernel[1] * window->kernel[2];
    g->small_plane = window->out[0] * window->out[1] * window->out[2];
    g->large_plane = window->in[0] * window->in[1] * window->in[2];
    g->dy = call->inputs[0]->data;
    return 0;
}

/* (dy, shape of x, w) */
static int conv_gradient_input_run(const struct call *call, struct error *err) {
    const struct tensor *dx = call->outputs[0], *w = call->inputs[2];
    struct conv_gradient g;
    if (read_conv(call, &dx->shape, &w->shape, &g, err) < 0) {
        return -1;
    }
    g.w = w->data;
    g.dx = dx->data;
    threads_run(cpu_threads(call), dx->shape.dims[0] * dx->shape.dims[1], 1, input_body, &g);
    return 0;
}
const struct kernel reference_conv_gradient_input = {"reference conv_gradient_input",
                                                     conv_gradient_input_run};

/* (dy, shape of w, x) */
static int conv_gradient_weights_run(const struct call *call, struct error *err) {
    const struct tensor *dw = call->outputs[0], *x = call->inputs[2];
    const struct tensor *dbias = call->output_count > 1 ? call->outputs[1] : NULL;
    struct conv_gradient g;
    if (read_conv(call, &x->shape, &dw->shape, &g, err) < 0) {
        return -1;
    }
    g.small = g.is_transposed ? x->data : g.dy;
    g.large = g.is_transposed ? g.dy : x->data;
    g.dw = dw->data;
    threads_run(cpu_threads(call), dw->shape.dims[0] * dw->shape.dims[1], 1, weights_body, &g);
    if (dbias) {
        g.dbias = dbias->data;
        threads_run(cpu_threads(call), dbias->shape.dims[0], 1, bias_body, &g);
    }
    return 0;
}
const struct kernel reference_conv_gradient_weights = {"reference conv_gradient_weights",
                                                       conv_gradient_weights_run};

struct pool_gradient {
    struct window window;
    bool is_max, counts_pads;
    const float *x, *dy;
    float *dx;
    int64_t x_plane, y_plane;
};

/* The greatest pixel of a window: the first of equal ones; NaN is greatest, as in the pool. -1: the
 * window is empty. */
static int64_t greatest_pixel(const struct window *window, const struct window_span *spans,
                              const float *x) {
    int64_t best = -1;
    for (int64_t d = spans[0].first; d < spans[0].last; d += window->dilation[0]) {
        for (int64_t h = spans[1].first; h < spans[1].last; h += window->dilation[1]) {
            for (int64_t v = spans[2].first; v < spans[2].last; v += window->dilation[2]) {
                int64_t pixel = (d * window->in[1] + h) * window->in[2] + v;
                bool is_greater = best < 0 || x[pixel] > x[best] || isnan(x[pixel]);
                best = is_greater ? pixel : best;
            }
        }
    }
    return best;
}

/* The number of pixels that an average pool divides by. */
static double averaged_count(const struct pool_gradient *pool, const struct window_span *spans) {
    double count = 1;
    for (int i = 0; i < WINDOW_RANK; i++) {
        int64_t step = pool->window.dilation[i], size = MAX(spans[i].last - spans[i].first, 0);
        count *= (double)(pool->counts_pads ? spans[i].cells : (size + step - 1) / step);
    }
    return count;
}

/* Adds an output's gradient to the pixels of its window, in equal parts. */
static void spread_average(const struct pool_gradient *pool, const struct window_span *spans,
                           float dy, float *dx) {
    const struct window *window = &pool->window;
    float share = (float)((double)dy / averaged_count(pool, spans));
    for (int64_t d = spans[0].first; d < spans[0].last; d += window->dilation[0]) {
        for (int64_t h = spans[1].first; h < spans[1].last; h += window->dilation[1]) {
            for (int64_t v = spans[2].first; v < spans[2].last; v += window->dilation[2]) {
                dx[(d * window->in[1] + h) * window->in[2] + v] += share;
            }
        }
    }
}

static void spread(const struct pool_gradient *pool, const struct window_span *spans,
                   const float *x, float dy, float *dx) {
    if (!pool->is_max) {
        spread_average(pool, spans, dy, dx);
        return;
    }
    int64_t best = greatest_pixel(&pool->window, spans, x);
    if (best >= 0) {
        dx[best] += dy;
    }
}

static void pool_plane(const struct pool_gradient *pool, const float *x, const float *dy,
                       float *dx) {
    const int64_t *out = pool->window.out;
    struct window_span spans[WINDOW_RANK];
    for (int64_t d = 0; d < out[0]; d++) {
        spans[0] = window_find_span(&pool->window, 0, d);
        for (int64_t h = 0; h < out[1]; h++) {
            spans[1] = window_find_span(&pool->window, 1, h);
            for (int64_t v = 0; v < out[2]; v++) {
                spans[2] = window_find_span(&pool->window, 2, v);
                spread(pool, spans, x, *dy++, dx);
            }
        }
    }
}

static void pool_body(void *context, int64_t first, int64_t last) {
    const struct pool_gradient *pool = context;
    for (int64_t plane = first; plane < last; plane++) {
        const float *x = pool->is_max ? pool->x + plane * pool->x_plane : NULL;
        float *dx = pool->dx + plane * pool->x_plane;
        memset(dx, 0, (size_t)pool->x_plane * sizeof *dx);
        pool_plane(pool, x, pool->dy + plane * pool->y_plane, dx);
    }
}

/* A window that covers the whole activation, as one line. */
static void set_global(const struct shape *x, struct window *ret_window) {
    int64_t planes = x->dims[0] * x->dims[1], pixels = shape_count(x) / MAX(planes, 1);
    *ret_window = (struct window){.rank = 1,
                                  .groups = 1,
                                  .in = {1, 1, pixels},
                                  .out = {1, 1, 1},
                                  .kernel = {1, 1, pixels},
                                  .stride = {1, 1, 1},
                                  .dilation = {1, 1, 1}};
}

/* (dy, shape of x[, x]) */
static int pool_gradient_run(const struct call *call, struct error *err) {
    const struct tensor *dx = call->outputs[0];
    struct node forward = op_forward_node(call->node);
    const struct fact fact = {TENSOR_FLOAT32, dx->shape, NULL};
    const struct fact *inputs[] = {&fact};
    struct pool_gradient pool = {.is_max = forward.op->id != OP_AVERAGE_POOL,
                                 .counts_pads = node_integer(&forward, "count_include_pad", 0),
                                 .x = call->input_count > 2 ? call->inputs[2]->data : NULL,
                                 .dy = call->inputs[0]->data,
                                 .dx = dx->data};
    forward.input_count = 1;
    if (forward.op->id == OP_GLOBAL_MAX_POOL) {
        set_global(&dx->shape, &pool.window);
    } else if (window_of_pool(&forward, inputs, &pool.window, err) < 0) {
        return -1;
    }
    pool.x_plane = pool.window.in[0] * pool.window.in[1] * pool.window.in[2];
    pool.y_plane = pool.window.out[0] * pool.window.out[1] * pool.window.out[2];
    threads_run(cpu_threads(call), dx->shape.dims[0] * dx->shape.dims[1], 1, pool_body, &pool);
    return 0;
}
const struct kernel reference_pool_gradient = {"reference pool_gradient", pool_gradient_run};
