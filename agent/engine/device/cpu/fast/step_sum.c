// SPDX-License-Identifier: Apache-2.0
// Sums over broadcast dimensions (SumTo), also of the product of two activations. Some hundred
// numbers are added in float, and these sums in double, in an order that does not depend on the
// number of threads.
#include <string.h>

#include "agent/engine/device/cpu/fast/block_pixels.h"
#include "agent/engine/device/cpu/fast/parallel.h"
#include "agent/engine/device/cpu/fast/steps_training.h"

enum {
    PIECE = 256,   // numbers that are added in float
    COLUMNS = 512, // of a unit of work
    SLICE = 1024,  // the least number of rows of a unit
    SLICES_MAX = 16,
};

struct sums {
    const struct vector_ops *ops;
    const struct sum_step *step;
    const struct shape *shape;     // of x
    struct conv_operand x, factor; // factor.data NULL: none
    float *y;
    double *parts; // of columns: [slices, kept], to be added
};

/* ---- planes, blocked or row-major ------------------------------------------------------------ */

static void add_planes(const struct sums *s, int n, int block, double *total) {
    float rooms[2][PIECE * VECTOR_LANES_MAX] __attribute__((aligned(64)));
    float sum[VECTOR_LANES_MAX] = {0};
    size_t pixels = (size_t)(s->shape->dims[2] * s->shape->dims[3]);
    for (size_t first = 0; first < pixels; first += PIECE) {
        const struct block_pixels part = {n, block, first, MIN(PIECE, pixels - first)};
        const float *x = block_pixels_read(s->ops, &s->x, s->shape, &part, rooms[0]);
        const float *factor = NULL;
        if (s->factor.data) {
            factor = block_pixels_read(s->ops, &s->factor, s->shape, &part, rooms[1]);
        }
        s->ops->lane_sums(x, factor, part.count, sum);
        for (int i = 0; i < s->ops->block; i++) {
            total[i] += (double)sum[i];
        }
    }
}

// A block of channels, of one sample or summed over all.
static void planes_unit(void *context, int index, int lane UNUSED) {
    const struct sums *s = context;
    int b = s->ops->block, channels = (int)s->shape->dims[1], blocks = (channels + b - 1) / b;
    int n = index / blocks, block = index % blocks;
    int end = s->step->keeps_samples ? n + 1 : (int)s->shape->dims[0];
    double total[VECTOR_LANES_MAX] = {0};
    for (int at = n; at < end; at++) {
        add_planes(s, at, block, total);
    }
    for (int i = 0; i < MIN(b, channels - block * b); i++) {
        s->y[n * channels + block * b + i] = (float)total[i];
    }
}

/* ---- row-major ------------------------------------------------------------------------------- */

static double run_sum(const struct sums *s, const float *x, size_t count) {
    double total = 0;
    size_t lanes = (size_t)s->ops->block, whole = count / lanes;
    for (size_t first = 0; first < whole; first += PIECE) {
        float sum[VECTOR_LANES_MAX] = {0};
        s->ops->lane_sums(x + first * lanes, NULL, MIN(PIECE, whole - first), sum);
        for (size_t i = 0; i < lanes; i++) {
            total += (double)sum[i];
        }
    }
    for (size_t i = whole * lanes; i < count; i++) {
        total += (double)x[i];
    }
    return total;
}

// One number of y, whose terms are adjacent runs.
static void runs_unit(void *context, int index, int lane UNUSED) {
    const struct sums *s = context;
    const int64_t *dims = s->step->dims;
    int64_t outer = index / dims[2], kept = index % dims[2];
    double total = 0;
    for (int64_t i = 0; i < dims[1]; i++) {
        const float *x = s->x.data + ((outer * dims[1] + i) * dims[2] + kept) * dims[3];
        total += run_sum(s, x, (size_t)dims[3]);
    }
    s->y[index] = (float)total;
}

static int column_blocks(const struct sum_step *step) {
    return (int)((step->dims[2] + COLUMNS - 1) / COLUMNS);
}

// Some columns of a slice of the rows.
static void columns_unit(void *context, int index, int lane UNUSED) {
    const struct sums *s = context;
    const int64_t *dims = s->step->dims;
    int64_t slices = s->step->slices, slice = index % slices, blocks = column_blocks(s->step);
    int64_t outer = index / slices / blocks, column = index / slices % blocks * COLUMNS;
    int64_t end = dims[1] * (slice + 1) / slices, count = MIN(COLUMNS, dims[2] - column);
    double *part = s->parts + (outer * slices + slice) * dims[2] + column;
    memset(part, 0, (size_t)count * sizeof *part);
    for (int64_t row = dims[1] * slice / slices; row < end; row += PIECE) {
        float sum[COLUMNS] = {0};
        const float *x = s->x.data + (outer * dims[1] + row) * dims[2] + column;
        s->ops->add_rows(sum, x, (size_t)dims[2], (int)MIN(PIECE, end - row), (int)count);
        for (int64_t i = 0; i < count; i++) {
            part[i] += (double)sum[i];
        }
    }
}

static void add_slices(const struct sums *s) {
    int64_t kept = s->step->dims[2], slices = s->step->slices;
    for (int64_t i = 0; i < s->step->dims[0] * kept; i++) {
        double total = 0;
        for (int64_t k = 0; k < slices; k++) {
            total += s->parts[(i / kept * slices + k) * kept + i % kept];
        }
        s->y[i] = (float)total;
    }
}

/* ---- the step -------------------------------------------------------------------------------- */

void step_sum_prepare(const struct schedule *schedule, struct step *step) {
    struct sum_step *state = step->state;
    state->x_layout = schedule->slots[step->inputs[0]].layout;
    if (state->factor >= 0) {
        state->factor_layout = schedule->slots[step->inputs[state->factor]].layout;
    }
    if (!state->of_planes && state->dims[3] == 1) {
        state->slices = (int)MIN(MAX(state->dims[1] / SLICE, 1), SLICES_MAX);
        step->scratch_bytes =
            (size_t)(state->dims[0] * state->dims[2]) * (size_t)state->slices * sizeof(double);
    }
}

/* (x, shape of y[, factor]) */
static int sum_run(const struct call *call, struct error *err UNUSED) {
    const struct cpu_device *cpu = (const struct cpu_device *)call->device;
    const struct sum_step *step = call->state;
    const int64_t *dims = step->dims;
    struct sums s = {.ops = cpu->vectors,
                     .step = step,
                     .shape = &call->inputs[0]->shape,
                     .x = step_operand(cpu->vectors, call->inputs[0], step->x_layout),
                     .y = call->outputs[0]->data,
                     .parts = call->scratch};
    struct threads *threads = cpu_threads(call);
    if (step->of_planes) {
        int b = s.ops->block, blocks = ((int)s.shape->dims[1] + b - 1) / b;
        int samples = step->keeps_samples ? (int)s.shape->dims[0] : 1;
        if (step->factor >= 0) {
            s.factor = step_operand(s.ops, call->inputs[step->factor], step->factor_layout);
        }
        parallel_for(threads, samples * blocks, planes_unit, &s);
    } else if (dims[3] > 1) {
        parallel_for(threads, (int)(dims[0] * dims[2]), runs_unit, &s);
    } else {
        parallel_for(threads, (int)dims[0] * column_blocks(step) * step->slices, columns_unit, &s);
        add_slices(&s);
    }
    return 0;
}
const struct kernel fast_sum = {"fast SumTo", sum_run};
