// SPDX-License-Identifier: Apache-2.0
// Normalisation over the batch, and its gradient. One thread processes a block of channels in two
// passes: first the sums, then the results; in the second pass the values are in the cache if it is
// large enough. So the order of every sum does not depend on the number of threads.
#include "agent/engine/device/cpu/fast/block_pixels.h"
#include "agent/engine/device/cpu/fast/parallel.h"
#include "agent/engine/device/cpu/fast/steps_training.h"
#include "agent/engine/device/cpu/vector/vector_training.h"

#include <math.h>

enum { PIECE = 256 }; // pixels that are summed in float; their sums are added in double

typedef float numbers[VECTOR_LANES_MAX] __attribute__((aligned(64)));

struct norm {
    const struct vector_ops *ops;
    const struct shape *shape;
    double epsilon;
    enum activation activation;
    float low, high; // of a clip
    const float *scale, *shift;
    float *mean, *variance; // written in the forward pass, read in the backward pass
    struct conv_operand x, add, y;
    /* For the backward pass. */
    struct conv_operand dy, other, dx, kept;
    float *dscale, *dshift;
};

static struct norm norm_of(const struct call *call, const struct tensor *x, int layout) {
    const struct cpu_device *cpu = (const struct cpu_device *)call->device;
    return (struct norm){.ops = cpu->vectors,
                         .shape = &x->shape,
                         .epsilon = (double)node_number(call->node, "epsilon", 1e-5F),
                         .x = step_operand(cpu->vectors, x, layout)};
}

static int blocks_of(const struct norm *norm) {
    return ((int)norm->shape->dims[1] + norm->ops->block - 1) / norm->ops->block;
}

// The block's next piece; begin with n = -1. false: there is none.
static bool next_piece(const struct norm *norm, struct block_pixels *part) {
    size_t pixels = (size_t)(norm->shape->dims[2] * norm->shape->dims[3]);
    part->first += part->count;
    if (part->n < 0 || part->first == pixels) {
        part->n++;
        part->first = 0;
    }
    part->count = MIN(PIECE, pixels - part->first);
    return part->n < norm->shape->dims[0];
}

static double count_of(const struct norm *norm) {
    const int64_t *dims = norm->shape->dims;
    return (double)(dims[0] * dims[2] * dims[3]);
}

// The number of channels in the block; further lanes are unused.
static int lanes_of(const struct norm *norm, int block) {
    return MIN(norm->ops->block, (int)norm->shape->dims[1] - block * norm->ops->block);
}

// The norm's output is x * scale + shift. These are computed from the stored statistics, so that
// the gradient gets the same bits as the relu in the forward pass.
static void affine_of(const struct norm *norm, int block, numbers scale, numbers shift) {
    for (int i = 0; i < lanes_of(norm, block); i++) {
        int c = block * norm->ops->block + i;
        double factor = (double)norm->scale[c] / sqrt((double)norm->variance[c] + norm->epsilon);
        scale[i] = (float)factor;
        shift[i] = (float)((double)norm->shift[c] - (double)norm->mean[c] * factor);
    }
}

/* ---- forwards -------------------------------------------------------------------------------- */

// Computes mean and variance, relative to the mean of the first piece to avoid cancellation.
static void measure(const struct norm *norm, int block) {
    double sums[VECTOR_LANES_MAX] = {0}, squares[VECTOR_LANES_MAX] = {0};
    float room[PIECE * VECTOR_LANES_MAX] __attribute__((aligned(64)));
    numbers pivot = {0}, sum, square;
    struct block_pixels part = {.n = -1, .block = block};
    for (bool is_first = true; next_piece(norm, &part); is_first = false) {
        const float *x = block_pixels_read(norm->ops, &norm->x, norm->shape, &part, room);
        if (is_first) {
            norm->ops->moments(x, part.count, pivot, sum, square);
            for (int i = 0; i < norm->ops->block; i++) {
                pivot[i] = sum[i] / (float)part.count;
            }
        }
        norm->ops->moments(x, part.count, pivot, sum, square);
        for (int i = 0; i < norm->ops->block; i++) {
            sums[i] += (double)sum[i];
            squares[i] += (double)square[i];
        }
    }
    double count = count_of(norm);
    for (int i = 0; i < lanes_of(norm, block); i++) {
        int c = block * norm->ops->block + i;
        double deviation = sums[i] / count, variance = squares[i] / count - deviation * deviation;
        norm->mean[c] = (float)((double)pivot[i] + deviation);
        norm->variance[c] = (float)(variance > 0 || isnan(variance) ? variance : 0);
    }
}

static void norm_block(void *context, int block, int lane UNUSED) {
    const struct norm *norm = context;
    float rooms[3][PIECE * VECTOR_LANES_MAX] __attribute__((aligned(64)));
    numbers scale = {0}, shift = {0};
    measure(norm, block);
    affine_of(norm, block, scale, shift);
    const struct pending pending = {.scale = scale, .shift = shift}, none = {0};
    struct block_pixels part = {.n = -1, .block = block};
    while (next_piece(norm, &part)) {
        const float *x = block_pixels_read(norm->ops, &norm->x, norm->shape, &part, rooms[0]);
        const float *add = NULL;
        if (norm->add.data) {
            add = block_pixels_read(norm->ops, &norm->add, norm->shape, &part, rooms[1]);
        }
        float *y = block_pixels_room(norm->ops, &norm->y, norm->shape, &part, rooms[2]);
        norm->ops->combine(y, x, &pending, add, &none, norm->low, norm->high, part.count);
        if (norm->activation == ACTIVATION_SILU) {
            norm->ops->silu(y, part.count);
        } else if (norm->activation == ACTIVATION_HARD_SWISH) {
            norm->ops->hard_swish(y, part.count);
        }
        block_pixels_write(norm->ops, &norm->y, norm->shape, &part, y);
    }
}

void step_norm_prepare(const struct schedule *schedule, struct step *step) {
    struct norm_step *state = step->state;
    state->in_layout = schedule->slots[step->inputs[0]].layout;
    state->add_layout = state->adds ? schedule->slots[step->inputs[3]].layout : 0;
    state->out_layout = schedule->slots[step->outputs[0]].layout;
}

/* (x, scale, shift[, what is added]) -> y, mean, variance */
static int norm_run(const struct call *call, struct error *err UNUSED) {
    const struct norm_step *step = call->state;
    struct norm norm = norm_of(call, call->inputs[0], step->in_layout);
    norm.activation = step->activation;
    norm.low = step->low;
    norm.high = step->high;
    norm.scale = call->inputs[1]->data;
    norm.shift = call->inputs[2]->data;
    norm.y = step_operand(norm.ops, call->outputs[0], step->out_layout);
    norm.mean = call->outputs[1]->data;
    norm.variance = call->outputs[2]->data;
    if (step->adds) {
        norm.add = step_operand(norm.ops, call->inputs[3], step->add_layout);
    }
    parallel_for(cpu_threads(call), blocks_of(&norm), norm_block, &norm);
    return 0;
}
const struct kernel fast_norm = {"fast NormTraining", norm_run};

/* ---- backwards ------------------------------------------------------------------------------- */

// Buffers for the operands of a piece that are not blocked.
struct rooms {
    float all[5][PIECE * VECTOR_LANES_MAX] __attribute__((aligned(64)));
};

static const float *read_if(const struct norm *norm, const struct conv_operand *from,
                            const struct block_pixels *part, float *room) {
    return from->data ? block_pixels_read(norm->ops, from, norm->shape, part, room) : NULL;
}

static void read_piece(const struct norm *norm, const struct block_pixels *part,
                       struct rooms *rooms, struct norm_job *job) {
    job->count = part->count;
    job->x = read_if(norm, &norm->x, part, rooms->all[0]);
    job->dy = read_if(norm, &norm->dy, part, rooms->all[1]);
    job->other = read_if(norm, &norm->other, part, rooms->all[2]);
    job->y = read_if(norm, &norm->y, part, rooms->all[3]);
}

// Computes the sums of g and g (x - mean), and stores g if other steps read it.
static void pass_sums(const struct norm *norm, int block, struct norm_job job, double *sums,
                      double *products) {
    struct rooms rooms;
    numbers sum, product;
    struct block_pixels part = {.n = -1, .block = block};
    job.sum = sum;
    job.product = product;
    while (next_piece(norm, &part)) {
        read_piece(norm, &part, &rooms, &job);
        job.kept = NULL;
        if (norm->kept.data) {
            job.kept = block_pixels_room(norm->ops, &norm->kept, norm->shape, &part, rooms.all[4]);
        }
        norm->ops->norm_sums(&job);
        if (norm->kept.data) {
            block_pixels_write(norm->ops, &norm->kept, norm->shape, &part, job.kept);
        }
        for (int i = 0; i < norm->ops->block; i++) {
            sums[i] += (double)sum[i];
            products[i] += (double)product[i];
        }
    }
}

static void pass_slopes(const struct norm *whole, int block, struct norm_job job) {
    struct rooms rooms;
    struct block_pixels part = {.n = -1, .block = block};
    struct norm norm = *whole;
    if (norm.kept.data) { // g was stored in the first pass
        norm.dy = norm.kept;
        norm.other = norm.y = (struct conv_operand){0};
        job.activation = ACTIVATION_NONE;
    }
    while (next_piece(&norm, &part)) {
        read_piece(&norm, &part, &rooms, &job);
        job.dx = block_pixels_room(norm.ops, &norm.dx, norm.shape, &part, rooms.all[4]);
        norm.ops->norm_slopes(&job);
        block_pixels_write(norm.ops, &norm.dx, norm.shape, &part, job.dx);
    }
}

// With z = (x - mean) / deviation: dscale = sum g z, dshift = sum g, and dx = scale / deviation
// (g - mean of g - z mean of g z).
static void gradient_block(void *context, int block, int lane UNUSED) {
    const struct norm *norm = context;
    double sums[VECTOR_LANES_MAX] = {0}, products[VECTOR_LANES_MAX] = {0}, count = count_of(norm);
    numbers mean = {0}, scale = {0}, shift = {0}, factors = {0}, slopes = {0}, bases = {0};
    struct norm_job job = {.mean = mean,
                           .factor = factors,
                           .slope = slopes,
                           .base = bases,
                           .scale = scale,
                           .shift = shift,
                           .low = norm->low,
                           .high = norm->high};
    for (int i = 0; i < lanes_of(norm, block); i++) {
        mean[i] = norm->mean[block * norm->ops->block + i];
    }
    if (norm->activation) {
        affine_of(norm, block, scale, shift);
        job.activation = norm->activation;
    }
    pass_sums(norm, block, job, sums, products);
    for (int i = 0; i < lanes_of(norm, block); i++) {
        int c = block * norm->ops->block + i;
        double inverse = 1 / sqrt((double)norm->variance[c] + norm->epsilon);
        double factor = (double)norm->scale[c] * inverse, dscale = products[i] * inverse;
        norm->dscale[c] = (float)dscale;
        norm->dshift[c] = (float)sums[i];
        factors[i] = (float)factor;
        slopes[i] = (float)(-factor * dscale * inverse / count);
        bases[i] = (float)(-factor * sums[i] / count);
    }
    pass_slopes(norm, block, job);
}

static int layout_of(const struct schedule *schedule, const struct step *step, int input) {
    return input < 0 ? 0 : schedule->slots[step->inputs[input]].layout;
}

void step_norm_gradient_prepare(const struct schedule *schedule, struct step *step) {
    struct norm_gradient_step *state = step->state;
    state->dy_layout = layout_of(schedule, step, 0);
    state->x_layout = layout_of(schedule, step, 1);
    state->other_layout = layout_of(schedule, step, state->other);
    state->y_layout = layout_of(schedule, step, state->y);
    state->dx_layout = schedule->slots[step->outputs[0]].layout;
    state->kept_layout = step->output_count > 3 ? schedule->slots[step->outputs[3]].layout : 0;
}

static int norm_gradient_run(const struct call *call, struct error *err UNUSED) {
    const struct norm_gradient_step *step = call->state;
    struct norm norm = norm_of(call, call->inputs[1], step->x_layout);
    const struct vector_ops *ops = norm.ops;
    norm.dy = step_operand(ops, call->inputs[0], step->dy_layout);
    norm.scale = call->inputs[2]->data;
    norm.mean = call->inputs[3]->data;
    norm.variance = call->inputs[4]->data;
    norm.dx = step_operand(ops, call->outputs[0], step->dx_layout);
    norm.dscale = call->outputs[1]->data;
    norm.dshift = call->outputs[2]->data;
    if (step->other >= 0) {
        norm.other = step_operand(ops, call->inputs[step->other], step->other_layout);
    }
    if (step->y >= 0) {
        norm.y = step_operand(ops, call->inputs[step->y], step->y_layout);
    }
    if (step->shift >= 0) {
        norm.activation = step->activation;
        norm.low = step->low;
        norm.high = step->high;
        norm.shift = call->inputs[step->shift]->data;
    }
    if (call->output_count > 3) {
        norm.kept = step_operand(ops, call->outputs[3], step->kept_layout);
    } else if (norm.activation == ACTIVATION_SILU) {
        norm.kept = norm.dx; // to write it once more takes less time than a second exponential
    }
    parallel_for(cpu_threads(call), blocks_of(&norm), gradient_block, &norm);
    return 0;
}
const struct kernel fast_norm_gradient = {"fast NormGradient", norm_gradient_run};
