// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample of height and width, by nearest pixels, linear or cubic, in blocks of
// channels. A row of the result is a sum of a few weighted rows, and then of a few weighted pixels.
#include <stdlib.h>

#include "agent/engine/device/cpu/fast/block_pixels.h"
#include "agent/engine/device/cpu/fast/parallel.h"
#include "agent/engine/device/cpu/fast/steps.h"
#include "agent/engine/device/cpu/vector/vector_window.h"

enum { TAPS_MAX = 4 };

// Which pixels of one dimension each output pixel is made from, `count` of them.
struct taps {
    int count, out;
    int *pixels; // [out][count]
    float *weights;
};

struct resize_step {
    struct taps rows, columns;
    int in_layout, out_layout;
};

void step_resize_free(void *state) {
    struct resize_step *step = state;
    free(step->rows.pixels);
    free(step->rows.weights);
    free(step->columns.pixels);
    free(step->columns.weights);
    free(step);
}

/* ---- preparing ------------------------------------------------------------------------------- */

static bool is_same(const struct resize *resize, const struct shape *x, int axis) {
    return resize->output.dims[axis] == x->dims[axis] && resize->scales[axis] == 1;
}

static struct taps taps_of(const struct resize *resize, const struct shape *x, int axis) {
    bool same = is_same(resize, x, axis);
    struct taps taps = {.count = same || !resize->is_linear ? 1
                                 : resize->is_cubic         ? TAPS_MAX
                                                            : 2,
                        .out = (int)resize->output.dims[axis]};
    size_t all = (size_t)(taps.out * taps.count);
    taps.pixels = x_calloc(all, sizeof *taps.pixels);
    taps.weights = x_calloc(all, sizeof *taps.weights);
    for (int i = 0; i < taps.out; i++) {
        struct resize_pixel pixels[TAPS_MAX] = {{i, 1}};
        if (!same) {
            resize_pixels(resize, resize_source(resize, x, axis, i), axis, x->dims[axis], pixels);
        }
        for (int k = 0; k < taps.count; k++) {
            taps.pixels[i * taps.count + k] = (int)pixels[k].at;
            taps.weights[i * taps.count + k] = pixels[k].weight;
        }
    }
    return taps;
}

void *step_resize_new(const struct resize *resize, const struct shape *x) {
    if (x->rank != 4 || resize->coordinates == RESIZE_TF_CROP || !is_same(resize, x, 0) ||
        !is_same(resize, x, 1)) {
        return NULL;
    }
    struct resize_step *step = x_calloc(1, sizeof *step);
    step->rows = taps_of(resize, x, 2);
    step->columns = taps_of(resize, x, 3);
    return step;
}

struct resizing {
    const struct vector_ops *ops;
    const struct resize_step *step;
    const struct shape *x, *y;
    struct conv_operand in, out;
    float *scratch;
    size_t lane_floats;
};

// A thread's scratch: a blended row, a row of results, a plane in blocks if the input is not.
static size_t lane_floats(const struct vector_ops *ops, const struct resize_step *step,
                          const struct shape *x) {
    int64_t pixels = x->dims[3] + step->columns.out;
    pixels += step->in_layout ? 0 : x->dims[2] * x->dims[3];
    return (size_t)pixels * (size_t)ops->block;
}

void step_resize_prepare(struct cpu_device *cpu, struct schedule *schedule, struct step *step) {
    struct resize_step *state = step->state;
    state->in_layout = schedule->slots[step->inputs[0]].layout;
    state->out_layout = schedule->slots[step->outputs[0]].layout;
    step->scratch_bytes =
        lane_floats(cpu->vectors, state, &schedule->slots[step->inputs[0]].shape) * sizeof(float) *
        (size_t)threads_count(cpu->threads);
}

/* ---- running --------------------------------------------------------------------------------- */

static void resize_block(void *context, int index, int lane) {
    const struct resizing *run = context;
    const struct taps *rows = &run->step->rows;
    const struct taps *columns = &run->step->columns;
    int b = run->ops->block, width = (int)run->x->dims[3];
    int blocks = ((int)run->x->dims[1] + b - 1) / b, height = (int)run->x->dims[2];
    struct block_pixels all = {
        .n = index / blocks, .block = index % blocks, .count = (size_t)height * (size_t)width};
    float *blended = run->scratch + (size_t)lane * run->lane_floats;
    float *line = blended + (size_t)(width * b), *plane = line + (size_t)(columns->out * b);
    const float *in = block_pixels_read(run->ops, &run->in, run->x, &all, plane);
    for (int y = 0; y < rows->out; y++) {
        struct block_pixels row = {.n = all.n,
                                   .block = all.block,
                                   .first = (size_t)y * (size_t)columns->out,
                                   .count = (size_t)columns->out};
        const float *source[TAPS_MAX];
        for (int k = 0; k < rows->count; k++) {
            source[k] = in + (size_t)rows->pixels[y * rows->count + k] * (size_t)(width * b);
        }
        struct resample_job job = {.taps = columns->count,
                                   .count = columns->out,
                                   .pixels = columns->pixels,
                                   .weights = columns->weights,
                                   .in = source[0]};
        if (rows->count > 1) {
            run->ops->blend(blended, source, rows->weights + y * rows->count, rows->count,
                            (size_t)width);
            job.in = blended;
        }
        job.out = block_pixels_room(run->ops, &run->out, run->y, &row, line);
        run->ops->resample(&job);
        block_pixels_write(run->ops, &run->out, run->y, &row, job.out);
    }
}

static int resize_run(const struct call *call, struct error *err UNUSED) {
    struct cpu_device *cpu = (struct cpu_device *)call->device;
    const struct resize_step *step = call->state;
    struct resizing run = {.ops = cpu->vectors,
                           .step = step,
                           .x = &call->inputs[0]->shape,
                           .y = &call->outputs[0]->shape,
                           .in = step_operand(cpu->vectors, call->inputs[0], step->in_layout),
                           .out = step_operand(cpu->vectors, call->outputs[0], step->out_layout),
                           .scratch = call->scratch};
    run.lane_floats = lane_floats(cpu->vectors, step, run.x);
    int b = run.ops->block, blocks = ((int)run.x->dims[1] + b - 1) / b;
    parallel_for(cpu->threads, (int)run.x->dims[0] * blocks, resize_block, &run);
    return 0;
}
const struct kernel fast_resize = {"fast Resize", resize_run};
