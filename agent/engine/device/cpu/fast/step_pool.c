// SPDX-License-Identifier: Apache-2.0
/* Pools over windows and global pools of blocked activations, and their gradient. */
#include <math.h>
#include <string.h>

#include "agent/engine/device/cpu/fast/parallel.h"
#include "agent/engine/device/cpu/fast/steps_training.h"
#include "agent/engine/device/cpu/vector/vector_training.h"
#include "agent/engine/device/cpu/vector/vector_window.h"

struct pool {
    const struct vector_ops *ops;
    const struct shape *x;
    const struct pool_step *step;
    struct conv_operand in, out;
    float *scratch;
    size_t lane_floats;
};

// With ceil_mode the last window may reach beyond the padding.
static size_t row_floats(const struct vector_ops *ops, const struct window *window) {
    int64_t padded = window->in[2] + window->pad_begin[2] + window->pad_end[2];
    int64_t reached = (window->out[2] - 1) * window->stride[2] + window->kernel[2];
    return (size_t)(MAX(padded, reached) * ops->block);
}

static size_t pixels_of(const int64_t size[WINDOW_RANK]) {
    return (size_t)(size[0] * size[1] * size[2]);
}

// A thread's scratch: the rows of a window, a row of results and how many cells each of them sums,
// all pixels in blocks if the input is not.
struct room {
    float *rows, *line, *cells, *plane;
    size_t floats;
};

static struct room room_of(const struct vector_ops *ops, const struct pool_step *step,
                           float *scratch) {
    const struct window *window = &step->window;
    size_t b = (size_t)ops->block, line = (size_t)window->out[2] * b;
    size_t rows = row_floats(ops, window) * (size_t)(window->kernel[0] * window->kernel[1]);
    size_t plane = step->in_layout ? 0 : pixels_of(window->in) * b;
    struct room room = {.rows = scratch, .floats = rows + 2 * line + plane};
    if (scratch) {
        room.line = scratch + rows;
        room.cells = room.line + line;
        room.plane = room.cells + line;
    }
    return room;
}

void step_pool_prepare(struct cpu_device *cpu, struct schedule *schedule, struct step *step) {
    struct pool_step *state = step->state;
    state->in_layout = schedule->slots[step->inputs[0]].layout;
    state->out_layout = schedule->slots[step->outputs[0]].layout;
    step->scratch_bytes = room_of(cpu->vectors, state, NULL).floats * sizeof(float) *
                          (size_t)threads_count(cpu->threads);
}

// A row of the results, and its plane (0 of two dimensions).
struct line {
    int64_t z, y;
};

// Loads padded rows of the window, of all its planes; padding is -infinity, or 0 for averages.
static void load_rows(const struct pool *pool, const float *pixels, struct line line, float *rows) {
    const struct window *window = &pool->step->window;
    size_t b = (size_t)pool->ops->block, length = row_floats(pool->ops, window);
    size_t width = (size_t)window->in[2] * b, left = (size_t)window->pad_begin[2] * b;
    float padding = pool->step->is_average ? 0 : -INFINITY;
    for (int64_t k = 0; k < window->kernel[0] * window->kernel[1]; k++) {
        int64_t z = line.z * window->stride[0] - window->pad_begin[0] + k / window->kernel[1];
        int64_t y = line.y * window->stride[1] - window->pad_begin[1] + k % window->kernel[1];
        bool inside = z >= 0 && z < window->in[0] && y >= 0 && y < window->in[1];
        float *to = rows + (size_t)k * length;
        for (size_t i = 0; i < length; i++) {
            if (!inside || i < left || i >= left + width) {
                to[i] = padding;
            } else {
                memcpy(to + i, pixels + (size_t)(z * window->in[1] + y) * width,
                       width * sizeof(float));
                i += width - 1;
            }
        }
    }
}

// How many cells each result of a row sums.
static void count_cells(const struct pool_step *step, struct line line, float *cells) {
    const struct window *window = &step->window;
    struct window_span deep = window_find_span(window, 0, line.z);
    struct window_span down = window_find_span(window, 1, line.y);
    for (int64_t x = 0; x < window->out[2]; x++) {
        struct window_span across = window_find_span(window, 2, x);
        cells[x] = step->counts_pads ? (float)(deep.cells * down.cells * across.cells)
                                     : (float)((deep.last - deep.first) * (down.last - down.first) *
                                               (across.last - across.first));
    }
}

static void pool_row(const struct pool *pool, const struct room *room, struct line line,
                     float *out) {
    const struct window *window = &pool->step->window;
    struct pool_row_job job = {.out = out,
                               .in = room->rows,
                               .in_row = row_floats(pool->ops, window),
                               .kernel_h = (int)(window->kernel[0] * window->kernel[1]),
                               .kernel_w = (int)window->kernel[2],
                               .stride = (int)window->stride[2],
                               .count = (int)window->out[2]};
    if (pool->step->is_average) {
        count_cells(pool->step, line, room->cells);
        job.cells = room->cells;
        pool->ops->average_row(&job);
    } else {
        pool->ops->max_row(&job);
    }
}

static void pool_block(void *context, int index, int lane) {
    const struct pool *pool = context;
    const struct window *window = &pool->step->window;
    int b = pool->ops->block, channels = (int)pool->x->dims[1], blocks = (channels + b - 1) / b;
    int n = index / blocks, block = index % blocks, lanes = MIN(b, channels - block * b);
    size_t pixels = pixels_of(window->in), out_pixels = pixels_of(window->out);
    struct room room =
        room_of(pool->ops, pool->step, pool->scratch + (size_t)lane * pool->lane_floats);
    const float *from = pool->in.data + (size_t)index * pixels * (size_t)b;
    const struct pending none = {0};
    if (!pool->in.blocked) {
        pool->ops->from_planar(room.plane,
                               pool->in.data + (size_t)(n * channels + block * b) * pixels, pixels,
                               lanes, pixels);
        from = room.plane;
    }
    for (int64_t row = 0; row < window->out[0] * window->out[1]; row++) {
        const struct line line = {row / window->out[1], row % window->out[1]};
        size_t first = (size_t)(row * window->out[2]);
        float *out = pool->out.blocked
                         ? pool->out.data + ((size_t)index * out_pixels + first) * (size_t)b
                         : room.line;
        load_rows(pool, from, line, room.rows);
        pool_row(pool, &room, line, out);
        if (!pool->out.blocked) {
            float *to = pool->out.data + (size_t)(n * channels + block * b) * out_pixels + first;
            pool->ops->to_planar(to, out_pixels, lanes, out, &none, (size_t)window->out[2]);
        }
    }
}

static int pool_run(const struct call *call, struct error *err UNUSED) {
    struct cpu_device *cpu = (struct cpu_device *)call->device;
    const struct pool_step *step = call->state;
    struct pool pool = {.ops = cpu->vectors,
                        .x = &call->inputs[0]->shape,
                        .step = step,
                        .in = step_operand(cpu->vectors, call->inputs[0], step->in_layout),
                        .out = step_operand(cpu->vectors, call->outputs[0], step->out_layout),
                        .scratch = call->scratch};
    pool.lane_floats = room_of(pool.ops, step, NULL).floats;
    int b = pool.ops->block, blocks = ((int)pool.x->dims[1] + b - 1) / b;
    parallel_for(cpu->threads, (int)pool.x->dims[0] * blocks, pool_block, &pool);
    return 0;
}
const struct kernel fast_pool = {"fast pool", pool_run};

static void average_block(void *context, int index, int lane UNUSED) {
    const struct pool *pool = context;
    int b = pool->ops->block, channels = (int)pool->x->dims[1], blocks = (channels + b - 1) / b;
    int n = index / blocks, block = index % blocks;
    size_t pixels = (size_t)shape_pixels(pool->x);
    const float *in = pool->in.data + (size_t)index * pixels * (size_t)b;
    double sums[VECTOR_LANES_MAX] = {0};
    // Some hundred pixels are summed in float; these sums are added in double.
    for (size_t first = 0; first < pixels; first += 256) {
        const float zero[VECTOR_LANES_MAX] = {0};
        float sum[VECTOR_LANES_MAX], squares[VECTOR_LANES_MAX];
        pool->ops->moments(in + first * (size_t)b, MIN(256, pixels - first), zero, sum, squares);
        for (int lane_index = 0; lane_index < b; lane_index++) {
            sums[lane_index] += (double)sum[lane_index];
        }
    }
    for (int i = 0; i < MIN(b, channels - block * b); i++) {
        pool->out.data[n * channels + block * b + i] = (float)(sums[i] / (double)pixels);
    }
}

static int global_pool_run(const struct call *call, struct error *err UNUSED) {
    struct cpu_device *cpu = (struct cpu_device *)call->device;
    struct pool pool = {.ops = cpu->vectors, .x = &call->inputs[0]->shape};
    pool.in = step_operand(pool.ops, call->inputs[0], LAYOUT_BLOCKED);
    pool.out = step_operand(pool.ops, call->outputs[0], 0);
    int b = pool.ops->block, blocks = ((int)pool.x->dims[1] + b - 1) / b;
    parallel_for(cpu->threads, (int)pool.x->dims[0] * blocks, average_block, &pool);
    return 0;
}
const struct kernel fast_global_pool = {"fast GlobalAveragePool", global_pool_run};

struct pool_gradient {
    const struct vector_ops *ops;
    const struct window *window;
    const float *x, *dy;
    float *dx;
};

static void pool_gradient_block(void *context, int index, int lane UNUSED) {
    const struct pool_gradient *pool = context;
    const struct window *window = pool->window;
    size_t b = (size_t)pool->ops->block, in_row = (size_t)window->in[2] * b;
    size_t in_plane = (size_t)window->in[1] * in_row, out_row = (size_t)window->out[2] * b;
    const float *x = pool->x + (size_t)index * in_plane;
    float *dx = pool->dx + (size_t)index * in_plane;
    const float *dy = pool->dy + (size_t)index * (size_t)window->out[1] * out_row;
    memset(dx, 0, in_plane * sizeof *dx);
    for (int64_t row = 0; row < window->out[1]; row++) {
        int64_t start = row * window->stride[1] - window->pad_begin[1];
        int64_t first = MAX(start, 0), last = MIN(start + window->kernel[1], window->in[1]);
        struct spread_job job = {.x = x + (size_t)first * in_row,
                                 .dx = dx + (size_t)first * in_row,
                                 .dy = dy + (size_t)row * out_row,
                                 .in_row = in_row,
                                 .rows = (int)(last - first),
                                 .in_width = (int)window->in[2],
                                 .kernel_w = (int)window->kernel[2],
                                 .stride = (int)window->stride[2],
                                 .pad_left = (int)window->pad_begin[2],
                                 .count = (int)window->out[2]};
        if (job.rows > 0) {
            pool->ops->spread_row(&job);
        }
    }
}

/* (dy, shape of x, x), all in blocks */
static int pool_gradient_run(const struct call *call, struct error *err UNUSED) {
    const struct cpu_device *cpu = (const struct cpu_device *)call->device;
    const struct pool_step *step = call->state;
    const struct shape *x = &call->inputs[2]->shape;
    struct pool_gradient pool = {.ops = cpu->vectors,
                                 .window = &step->window,
                                 .x = call->inputs[2]->data,
                                 .dy = call->inputs[0]->data,
                                 .dx = call->outputs[0]->data};
    int b = pool.ops->block, blocks = ((int)x->dims[1] + b - 1) / b;
    parallel_for(cpu_threads(call), (int)x->dims[0] * blocks, pool_gradient_block, &pool);
    return 0;
}
const struct kernel fast_pool_gradient = {"fast PoolGradient", pool_gradient_run};
