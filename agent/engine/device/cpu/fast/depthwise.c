// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions: each channel has a separate kernel. A unit of work is some blocks of
// channels and some rows. If a fused 1x1 convolution makes the input, a unit computes its blocks of
// that itself, row by row into its window, so they never leave the processor's cache.
// The gradient by the weights: a unit of work is a block of channels and some samples.
#include <string.h>

#include "agent/engine/device/cpu/fast/block_pixels.h"
#include "agent/engine/device/cpu/fast/conv_run.h"
#include "agent/engine/device/cpu/fast/parallel.h"
#include "agent/engine/device/cpu/fast/steps_training.h"
#include "agent/engine/device/cpu/vector/vector_training.h"

void depthwise_rows(const struct conv_pass *run, const struct conv_unit *unit, int row, int rows,
                    const float *in, size_t in_row) {
    const struct conv *conv = run->conv;
    size_t b = (size_t)conv->ops->block;
    int reads = conv_group_reads(&conv->shape);
    size_t taps = (size_t)(conv->shape.kernel_h * conv->shape.kernel_w * reads);
    for (int block = unit->block; block < unit->block_end; block++) {
        struct direct_job job = {
            .width = unit->column_end - unit->column,
            .rows = rows,
            .blocks = 1,
            .in = in + (size_t)(block - unit->group) * (size_t)conv->window_w * b,
            .in_row = in_row,
            .pixel = conv->pixel,
            .runs = conv->runs,
            .run_count = conv->run_count,
            .run_length = conv->run_length,
            .weights = conv->weights->data + (size_t)block * taps * b,
        };
        conv_target(run, &job, unit->n, block, row, unit->column);
        if (reads > 1) {
            conv->ops->grouped(&job, reads);
        } else {
            conv->ops->depthwise(&job);
        }
        conv_complete(run, unit, unit->n, block, row, rows);
    }
}

// Rows [top, bottom) and columns [left, right) of sample n, and their place in the window.
struct made_part {
    int n, top, bottom, left, right;
    float *out;
};

// Computes the activation of what the job has made.
static void activate(const struct conv *made, const struct direct_job *job) {
    for (int i = 0; made->activate && i < job->blocks * job->rows; i++) {
        float *block = job->out + (size_t)(i / job->rows) * job->out_block;
        made->activate(block + (size_t)(i % job->rows) * job->out_row, (size_t)job->width);
    }
}

// Computes a part of the activation into the window.
static void make_part(const struct conv_pass *run, const struct conv_unit *unit,
                      const struct made_part *part) {
    const struct conv *conv = run->conv, *made = conv->first;
    const struct conv_shape *s = &made->shape;
    size_t b = (size_t)conv->ops->block, width = (size_t)s->in_w;
    size_t ins = ((size_t)s->channels_in + b - 1) / b, k = ins * b;
    const float *in = run->in->data +
                      ((size_t)part->n * ins * (size_t)s->in_h + (size_t)part->top) * width * b +
                      (size_t)part->left * b;
    for (int block = unit->block; block < unit->block_end; block += DIRECT_BLOCKS_MAX) {
        struct direct_job job = {
            .width = part->right - part->left,
            .rows = part->bottom - part->top,
            .blocks = MIN(DIRECT_BLOCKS_MAX, unit->block_end - block),
            .in = in,
            .in_row = width * b,
            .pixel = b,
            .runs = made->runs,
            .run_count = made->run_count,
            .run_length = made->run_length,
            .weights = made->weights->data + (size_t)block * k * b,
            .bias = made->weights->bias + (size_t)block * b,
            .low = made->low,
            .high = made->high,
            .out = part->out + (size_t)(block - unit->group) * (size_t)conv->window_w * b,
            .out_row = conv->window_row,
            .out_block = (size_t)conv->window_w * b,
        };
        if (made->far) { // the next blocks'
            job.ahead = job.weights + k * (size_t)job.blocks * b;
            size_t left_over = (size_t)(made->weights->data + made->weights->count - job.ahead);
            job.ahead_count = MIN(k * DIRECT_BLOCKS_MAX * b, left_over);
        }
        conv->ops->direct(&job);
        activate(made, &job);
    }
}

// Zeros the pixels before `left` and from `right` on in `rows` window rows. The last pixels of a
// block and the first of the next block are adjacent.
static void zero_sides(const struct conv *conv, const struct conv_unit *unit, int left, int right,
                       int rows) {
    size_t b = (size_t)conv->ops->block, width = (size_t)conv->window_w;
    size_t blocks = conv->window_row / width / b, lines = (size_t)rows * blocks;
    size_t side = (width - (size_t)right + (size_t)left) * b;
    memset(unit->window, 0, (size_t)left * b * sizeof(float));
    for (size_t i = 0; side && i + 1 < lines; i++) {
        memset(unit->window + (i * width + (size_t)right) * b, 0, side * sizeof(float));
    }
    memset(unit->window + ((lines - 1) * width + (size_t)right) * b, 0,
           (width - (size_t)right) * b * sizeof(float));
}

void depthwise_make(const struct conv_pass *run, const struct conv_unit *unit, int n, int first,
                    int last, int y) {
    const struct conv *conv = run->conv;
    const struct conv_shape *s = &conv->shape;
    size_t row_bytes = conv->window_row * sizeof(float);
    // The columns and rows of the window that are in the activation; the others are zeros.
    int column = unit->column * s->stride_w - s->pad_left;
    int left = MIN(MAX(-column, 0), conv->window_w);
    int right = MAX(MIN(s->in_w - column, conv->window_w), left);
    int begin = MIN(MAX(first + s->pad_top - y, first), last);
    int end = MAX(MIN(first + s->pad_top + s->in_h - y, last), begin);
    memset(unit->window + (size_t)first * conv->window_row, 0, (size_t)(begin - first) * row_bytes);
    memset(unit->window + (size_t)end * conv->window_row, 0, (size_t)(last - end) * row_bytes);
    if (first == 0) { // the columns outside stay zero when rows are replaced
        zero_sides(conv, unit, left, right, last);
    }
    if (begin < end && left < right) {
        int top = y + (begin - first) - s->pad_top;
        size_t at = (size_t)begin * conv->window_row + (size_t)(left * conv->ops->block);
        const struct made_part part = {.n = n,
                                       .top = top,
                                       .bottom = top + (end - begin),
                                       .left = column + left,
                                       .right = column + right,
                                       .out = unit->window + at};
        make_part(run, unit, &part);
    }
}

/* ---- the gradient by the weights ------------------------------------------------------------- */

enum {
    PIECE = 256,    // pixels that are added in float; their sums are added in double
    UNITS_FEW = 16, // fewer blocks of channels than this are divided by samples, too
    WIDE_MAX = 128 * VECTOR_LANES_MAX, // TAPS_MAX of fuse_training.c
};

struct gradient {
    const struct vector_ops *ops;
    const struct depthwise_gradient_step *step;
    const struct shape *x_shape, *dy_shape;
    struct conv_operand x, dy;
    float *planes; // each thread's: a plane of x and one of dy, where those are row-major
    double *sums;  // [blocks, slices, taps + 1, b]: of the taps, and of dy
};

static size_t plane_floats(const struct depthwise_gradient_step *step, int b) {
    const struct window *window = &step->window;
    size_t x = step->x_layout ? 0 : (size_t)(window->in[1] * window->in[2] * b);
    return x + (step->dy_layout ? 0 : (size_t)(window->out[1] * window->out[2] * b));
}

static size_t sum_count(const struct depthwise_gradient_step *step, int b) {
    return (size_t)((step->window.kernel[1] * step->window.kernel[2] + 1) * b);
}

static int blocks_of(const struct depthwise_gradient_step *step, int b) {
    return ((int)step->window.groups + b - 1) / b;
}

void step_depthwise_prepare(struct cpu_device *cpu, struct schedule *schedule, struct step *step) {
    struct depthwise_gradient_step *state = step->state;
    int b = cpu->vectors->block, blocks = blocks_of(state, b);
    int samples = (int)schedule->slots[step->inputs[0]].shape.dims[0];
    state->dy_layout = schedule->slots[step->inputs[0]].layout;
    state->x_layout = schedule->slots[step->inputs[2]].layout;
    state->slices = MIN((UNITS_FEW + blocks - 1) / blocks, samples);
    step->scratch_bytes =
        sum_count(state, b) * (size_t)blocks * (size_t)state->slices * sizeof(double) +
        plane_floats(state, b) * (size_t)threads_count(cpu->threads) * sizeof(float);
}

// The rows of dy, in [row, end), whose row of x for the kernel's row k is inside x.
static void find_rows(const struct window *window, int64_t k, int64_t *row, int64_t *end) {
    int64_t shift = window->pad_begin[1] - k * window->dilation[1], stride = window->stride[1];
    int64_t first = shift > 0 ? (shift + stride - 1) / stride : 0;
    int64_t last = shift + window->in[1] - 1 < 0 ? -1 : (shift + window->in[1] - 1) / stride;
    *row = MAX(*row, first);
    *end = MIN(*end, last + 1);
}

// The pixels of a row of dy for which all taps are inside x.
static void find_columns(const struct window *window, struct taps_job *job) {
    int width = (int)window->out[2], stride = (int)window->stride[2];
    int pad = (int)window->pad_begin[2];
    int room = (int)(window->in[2] - 1 + pad - (window->kernel[2] - 1) * window->dilation[2]);
    int end = room < 0 ? 0 : MIN(room / stride + 1, width);
    job->first = MIN((pad + stride - 1) / stride, end);
    job->last = end;
}

// Some rows of a plane: adds the sums of the taps to `total`.
static void add_taps(const struct gradient *g, const float *x, const float *dy, int64_t row,
                     int64_t end, double *total) {
    const struct window *window = &g->step->window;
    int64_t b = g->ops->block, wide = window->kernel[2];
    float sums[WIDE_MAX] __attribute__((aligned(64)));
    struct taps_job job = {.sums = sums,
                           .dy_row = (size_t)(window->out[2] * b),
                           .x_row = (size_t)(window->stride[1] * window->in[2] * b),
                           .width = (int)window->out[2],
                           .in_width = (int)window->in[2],
                           .pad_left = (int)window->pad_begin[2],
                           .taps = (int)wide,
                           .stride = (int)window->stride[2],
                           .dilation = (int)window->dilation[2]};
    find_columns(window, &job);
    for (int64_t k = 0; k < window->kernel[1]; k++, total += wide * b) {
        int64_t first = row, last = end;
        find_rows(window, k, &first, &last);
        if (first >= last) {
            continue;
        }
        int64_t from = first * window->stride[1] + k * window->dilation[1] - window->pad_begin[1];
        job.dy = dy + first * window->out[2] * b;
        job.x = x + from * window->in[2] * b;
        job.rows = (int)(last - first);
        g->ops->taps(&job);
        for (int64_t i = 0; i < wide * b; i++) {
            total[i] += (double)sums[i];
        }
    }
    g->ops->lane_sums(dy + row * window->out[2] * b, NULL, (size_t)((end - row) * window->out[2]),
                      sums);
    for (int64_t i = 0; i < b; i++) {
        total[i] += (double)sums[i];
    }
}

static const float *plane_of(const struct gradient *g, const struct conv_operand *from,
                             const struct shape *shape, const struct block_pixels *plane,
                             float **room) {
    const float *data = block_pixels_read(g->ops, from, shape, plane, *room);
    *room += from->blocked ? 0 : plane->count * (size_t)g->ops->block;
    return data;
}

static void gradient_unit(void *context, int index, int lane) {
    const struct gradient *g = context;
    const struct window *window = &g->step->window;
    int b = g->ops->block, slices = g->step->slices, slice = index % slices;
    int64_t samples = g->x_shape->dims[0], rows = MAX(PIECE / window->out[2], 1);
    double *total = g->sums + (size_t)index * sum_count(g->step, b);
    memset(total, 0, sum_count(g->step, b) * sizeof *total);
    for (int64_t n = samples * slice / slices; n < samples * (slice + 1) / slices; n++) {
        float *room = g->planes + (size_t)lane * plane_floats(g->step, b);
        struct block_pixels plane = {.n = (int)n, .block = index / slices};
        plane.count = (size_t)(window->in[1] * window->in[2]);
        const float *x = plane_of(g, &g->x, g->x_shape, &plane, &room);
        plane.count = (size_t)(window->out[1] * window->out[2]);
        const float *dy = plane_of(g, &g->dy, g->dy_shape, &plane, &room);
        for (int64_t row = 0; row < window->out[1]; row += rows) {
            add_taps(g, x, dy, row, MIN(row + rows, window->out[1]), total);
        }
    }
}

// Adds the slices' sums of tap `tap` of a channel; tap number `taps` is the bias.
static float sum_of(const struct gradient *g, int channel, int64_t tap) {
    int b = g->ops->block, slices = g->step->slices;
    double total = 0;
    for (int i = 0; i < slices; i++) {
        size_t unit = (size_t)(channel / b * slices + i);
        total += g->sums[unit * sum_count(g->step, b) + (size_t)(tap * b + channel % b)];
    }
    return (float)total;
}

/* (dy, shape of w, x) -> dw [, dbias] */
static int depthwise_gradient_run(const struct call *call, struct error *err UNUSED) {
    const struct cpu_device *cpu = (const struct cpu_device *)call->device;
    const struct depthwise_gradient_step *step = call->state;
    int b = cpu->vectors->block, units = blocks_of(step, b) * step->slices;
    struct gradient g = {.ops = cpu->vectors,
                         .step = step,
                         .x_shape = &call->inputs[2]->shape,
                         .dy_shape = &call->inputs[0]->shape,
                         .x = step_operand(cpu->vectors, call->inputs[2], step->x_layout),
                         .dy = step_operand(cpu->vectors, call->inputs[0], step->dy_layout),
                         .sums = call->scratch};
    g.planes = (float *)(g.sums + (size_t)units * sum_count(step, b));
    parallel_for(cpu_threads(call), units, gradient_unit, &g);
    int64_t taps = step->window.kernel[1] * step->window.kernel[2];
    float *dw = call->outputs[0]->data;
    for (int channel = 0; channel < (int)step->window.groups; channel++) {
        for (int64_t k = 0; k < taps; k++) {
            dw[channel * taps + k] = sum_of(&g, channel, k);
        }
        if (call->output_count > 1 && call->outputs[1]) {
            ((float *)call->outputs[1]->data)[channel] = sum_of(&g, channel, taps);
        }
    }
    return 0;
}
const struct kernel fast_depthwise_gradient = {"fast depthwise gradient", depthwise_gradient_run};
