// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/fast/conv.h"

#include <math.h>
#include <string.h>

#include "agent/engine/device/cpu/fast/conv_run.h"
#include "agent/engine/device/cpu/fast/parallel.h"
#include "agent/engine/device/cpu/vector/vector_window.h"

// Runs [first, last) of a phase, of a pair of blocks whose weights begin at `weights`.
static void direct_part(const struct conv *conv, struct direct_job job,
                        const struct conv_phase *phase, const float *weights, int first, int last) {
    size_t run = (size_t)(phase->run_length * job.blocks * conv->ops->block);
    job.runs = phase->runs + first;
    job.run_count = last - first;
    job.weights = weights + (size_t)first * run;
    if (conv->far) {
        job.ahead = weights + (size_t)last * run;
        size_t left = (size_t)(conv->weights->data + conv->weights->count - job.ahead);
        job.ahead_count = MIN((size_t)(last - first) * run, left);
    }
    if (first > 0) {
        job.bias = NULL;
        job.add = job.out;
    }
    if (last < phase->run_count) {
        job.low = -INFINITY;
        job.high = INFINITY;
    }
    conv->ops->direct(&job);
}

// All phases of a pair of blocks, whose weights begin at `weights`.
static void direct_phases(const struct conv *conv, const struct direct_job *pair,
                          const float *weights) {
    size_t b = (size_t)conv->ops->block;
    for (int i = 0; i < conv_phase_count(&conv->shape); i++) {
        const struct conv_phase *phase = &conv->phases[i];
        struct direct_job job = *pair;
        const float *own = weights + phase->weights * (size_t)job.blocks * b;
        job.run_length = phase->run_length;
        job.out += phase->out;
        job.add = job.add ? job.add + phase->out : NULL;
        for (int first = 0; first < phase->run_count; first += phase->part_runs) {
            direct_part(conv, job, phase, own, first,
                        MIN(first + phase->part_runs, phase->run_count));
        }
    }
}

static void direct_rows(const struct conv_pass *run, const struct conv_unit *unit, int row,
                        int rows, const float *in, size_t in_row) {
    const struct conv *conv = run->conv;
    if (conv->bfloat) {
        conv_bfloat_rows(run, unit, row, rows, in, in_row);
        return;
    }
    const struct conv_unit made = conv_unit_outputs(conv, unit);
    int b = conv->ops->block, high = MAX(conv->shape.up_h, 1), wide = MAX(conv->shape.up_w, 1);
    for (int block = unit->block; block < unit->block_end; block += DIRECT_BLOCKS_MAX) {
        struct direct_job job = {
            .width = unit->column_end - unit->column,
            .rows = rows,
            .blocks = MIN(DIRECT_BLOCKS_MAX, unit->block_end - block),
            .in = in,
            .in_row = in_row,
            .pixel = conv->pixel,
            .in_far = conv->in_place && block == unit->block,
            .out_far = conv->in_place,
        };
        conv_target(run, &job, unit->n, block, row * high, made.column);
        job.out_row *= (size_t)high;
        job.out_pixel = (size_t)(wide * b);
        direct_phases(conv, &job,
                      conv->weights->data + (size_t)block * conv->pixel_values * (size_t)b);
        for (int i = 0; i < job.blocks; i++) {
            conv_complete(run, &made, unit->n, block + i, row * high, rows * high);
        }
    }
}

static void thin_rows(const struct conv_pass *run, const struct conv_unit *unit, int row, int rows,
                      const float *in, size_t in_row) {
    const struct conv *conv = run->conv;
    const struct conv_shape *s = &conv->shape;
    size_t plane = (size_t)s->out_h * (size_t)s->out_w;
    float *out = run->out->data + (size_t)unit->n * (size_t)s->channels_out * plane;
    for (int y = 0; y < rows; y++) {
        struct thin_job job = {
            .width = unit->column_end - unit->column,
            .outputs = s->channels_out,
            .in = in + (size_t)y * in_row,
            .runs = conv->runs,
            .run_count = conv->run_count,
            .run_length = conv->run_length,
            .pixel = conv->pixel,
            .weights = conv->weights->data,
            .bias = conv->weights->bias,
            .low = conv->low,
            .high = conv->high,
            .out = out + (size_t)(row + y) * (size_t)s->out_w + (size_t)unit->column,
            .out_plane = plane,
        };
        conv->ops->thin(&job);
    }
}

static void in_place_unit(const struct conv_pass *run, const struct conv_unit *unit) {
    const struct conv *conv = run->conv;
    const struct conv_shape *s = &conv->shape;
    size_t b = (size_t)conv->ops->block, w = (size_t)s->in_w;
    size_t activation = (size_t)conv_blocks(conv, s->channels_in) * (size_t)s->in_h * w * b;
    const float *in = run->in->data + (size_t)unit->n * activation +
                      ((size_t)(unit->group * s->in_h) * w + (size_t)(unit->row * s->stride_h) * w +
                       (size_t)(unit->column * s->stride_w)) *
                          b;
    direct_rows(run, unit, unit->row, unit->row_end - unit->row, in, (size_t)s->stride_h * w * b);
}

// `held`: whether the window already holds the unit's rows, from a unit with other blocks.
static void window_unit(const struct conv_pass *run, const struct conv_unit *unit, bool held) {
    const struct conv *conv = run->conv;
    const struct conv_shape *s = &conv->shape;
    int loaded = 0; // number of rows of the window that are loaded, from the group's first row on
    for (int row = unit->row; row < unit->row_end; row += conv->row_group) {
        int rows = MIN(conv->row_group, unit->row_end - row);
        int wanted = (rows - 1) * s->stride_h + s->extent_h;
        if (!held && conv->first) {
            depthwise_make(run, unit, unit->n, loaded, wanted, row * s->stride_h + loaded);
        } else if (!held) {
            conv_window_load(run, unit, unit->n, loaded, wanted, row * s->stride_h + loaded);
        }
        size_t in_row = (size_t)s->stride_h * conv->window_row;
        if (conv->weights->algorithm == CONV_THIN) {
            thin_rows(run, unit, row, rows, unit->window, in_row);
        } else if (conv->weights->algorithm == CONV_DEPTHWISE) {
            depthwise_rows(run, unit, row, rows, unit->window, in_row);
        } else {
            direct_rows(run, unit, row, rows, unit->window, in_row);
        }
        if (row + rows == unit->row_end) {
            return;
        }
        loaded = MAX(s->extent_h - s->stride_h, 0);
        memmove(unit->window, unit->window + (size_t)(wanted - loaded) * conv->window_row,
                (size_t)loaded * conv->window_row * sizeof(float));
    }
}

/* ---- instance normalisation ------------------------------------------------------------------ */

// Mean and squares of the unit's outputs, per channel. Squares are summed relative to the first
// pixel, in float within a row and in double over rows, so that a large mean does not cost
// precision.
static void unit_moments(const struct conv_pass *run, const struct conv_unit *unit,
                         double *moments) {
    const struct conv *conv = run->conv;
    int b = conv->ops->block, width = unit->column_end - unit->column;
    double count = (double)width * (unit->row_end - unit->row);
    for (int block = unit->block; block < unit->block_end; block++) {
        struct direct_job target;
        conv_target(run, &target, unit->n, block, unit->row, unit->column);
        double sums[VECTOR_LANES_MAX] = {0}, squares[VECTOR_LANES_MAX] = {0};
        for (int y = 0; y < unit->row_end - unit->row; y++) {
            float s[VECTOR_LANES_MAX], q[VECTOR_LANES_MAX];
            conv->ops->moments(target.out + (size_t)y * target.out_row, (size_t)width, target.out,
                               s, q);
            for (int lane = 0; lane < b; lane++) {
                sums[lane] += (double)s[lane];
                squares[lane] += (double)q[lane];
            }
        }
        for (int lane = 0; lane < b; lane++) {
            double *to = moments + ((block - unit->block) * b + lane) * 2;
            to[0] = (double)target.out[lane] + sums[lane] / count;
            to[1] = squares[lane] - sums[lane] * sums[lane] / count;
        }
    }
}

// Joins the units' moments (Chan's formula) into scale and shift of one channel.
static void channel_affine(const struct conv_pass *run, int n, int channel, float *affine) {
    const struct conv *conv = run->conv;
    int b = conv->ops->block, channels = conv_blocks(conv, conv->shape.channels_out) * b;
    double count = 0, mean = 0, squares = 0;
    for (int i = 0; i < conv->units; i++) {
        struct conv_unit unit;
        conv_unit_bounds(conv, i, &unit);
        unit = conv_unit_outputs(conv, &unit);
        if (unit.n != n || channel < unit.block * b || channel >= unit.block_end * b) {
            continue;
        }
        const double *part = run->moments + (i * conv->blocks * b + channel - unit.block * b) * 2;
        double more = (double)(unit.column_end - unit.column) * (unit.row_end - unit.row);
        double delta = part[0] - mean, total = count + more;
        mean += delta * more / total;
        squares += part[1] + delta * delta * count * more / total;
        count = total;
    }
    bool real = channel < conv->shape.channels_out;
    double scale =
        real ? (double)conv->gamma[channel] / sqrt(MAX(squares, 0) / count + (double)conv->epsilon)
             : 0;
    affine[channel] = (float)scale;
    affine[channels + channel] = real ? (float)((double)conv->beta[channel] - mean * scale) : 0;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void set_thread(const struct conv_pass *run, struct conv_unit *unit, int thread) {
    const struct conv *conv = run->conv;
    unit->thread = thread;
    unit->window = run->scratch + (size_t)thread * conv->thread_floats;
    unit->line = unit->window + conv->window_floats;
    unit->matrices = unit->line + conv->line_floats;
    unit->rounded = (uint16_t *)(void *)(run->scratch + (size_t)(thread + 1) * conv->thread_floats -
                                         conv->bfloat_floats);
}

static void run_unit(void *context, int index, int thread) {
    const struct conv_pass *run = context;
    const struct conv *conv = run->conv;
    int parts = conv->block_units / conv->groups, group = index / parts % conv->groups;
    int ins = conv->weights->planar ? conv->shape.channels_in
                                    : conv_blocks(conv, conv->shape.channels_in) / conv->groups;
    struct conv_unit unit = {.group = group * ins, .group_end = (group + 1) * ins};
    conv_unit_bounds(conv, index, &unit);
    set_thread(run, &unit, thread);
    if (conv->weights->algorithm == CONV_DEPTHWISE) { // it reads the same blocks that it writes
        unit.group = unit.block;
        unit.group_end = unit.block_end;
    }
    bool whole = conv->rows <= conv->row_group && // and of all the group's blocks
                 conv->weights->algorithm != CONV_DEPTHWISE;
    int place = whole ? index / parts : -1;
    bool held = whole && run->held[thread] == place;
    run->held[thread] = place;
    if (conv->winograd) {
        winograd_unit(run, &unit, held);
    } else if (conv->in_place) {
        in_place_unit(run, &unit);
    } else {
        window_unit(run, &unit, held);
    }
    if (conv->normed) {
        const struct conv_unit made = conv_unit_outputs(conv, &unit);
        unit_moments(run, &made, run->moments + index * conv->blocks * conv->ops->block * 2);
    }
}

static void share_block(void *context, int index, int thread) {
    const struct conv_pass *run = context;
    struct conv_unit unit = {.group = index, .group_end = index + 1};
    unit.row_end = run->conv->span;
    unit.column_end = run->conv->shape.out_w;
    set_thread(run, &unit, thread);
    winograd_share(run, &unit);
}

void conv_run(const struct conv *conv, struct threads *threads,
              const struct conv_operands *operands, void *scratch) {
    size_t per_unit = (size_t)(conv->blocks * conv->ops->block) * 2;
    size_t moments = conv->normed ? (size_t)conv->units * per_unit : 0;
    struct conv_pass run = {.conv = conv,
                            .in = operands->in,
                            .add = operands->add,
                            .out = operands->out,
                            .context = operands->context,
                            .moments = scratch};
    run.shared = (float *)((char *)scratch + (moments * sizeof(double) + 63) / 64 * 64);
    run.scratch = run.shared + conv->shared_floats;
    int held[THREADS_MAX];
    run.held = held;
    for (int i = 0; i < conv->threads; i++) {
        held[i] = -1;
    }
    if (conv->shared) {
        parallel_for(threads, conv_blocks(conv, conv->shape.channels_in), share_block, &run);
    }
    parallel_for(threads, conv->units, run_unit, &run);
    int channels = conv_blocks(conv, conv->shape.channels_out) * conv->ops->block;
    for (int n = 0; conv->normed && n < conv->shape.n; n++) {
        for (int channel = 0; channel < channels; channel++) {
            channel_affine(&run, n, channel,
                           operands->out->affine + (size_t)n * 2 * (size_t)channels);
        }
    }
}
