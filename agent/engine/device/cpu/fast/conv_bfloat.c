// SPDX-License-Identifier: Apache-2.0
// The direct algorithm in bfloat16: the values that some pixels sum are gathered and rounded, as
// rows of a matrix, which is multiplied by the weights. The input is what the direct algorithm
// reads in float32 (a window, or the activation in place), and so is the output.
#include "agent/engine/device/cpu/fast/conv_run.h"

#include <string.h>

// PIXELS_MAX: at once; ROUNDED_MAX: values of them, which stay in the second-level cache.
enum { PIXELS_MAX = 256, ROUNDED_MAX = 1 << 19, LINE_FLOATS = 16 };

static int most_steps(const struct conv *conv) {
    int most = 0;
    for (int i = 0; i < conv_phase_count(&conv->shape); i++) {
        const struct conv_phase *phase = &conv->phases[i];
        most = MAX(most, vector_bfloat_steps((int64_t)phase->run_count * phase->run_length));
    }
    return most;
}

void conv_bfloat_plan(struct conv *conv) {
    if (!conv->bfloat) {
        conv->bfloat_floats = 0;
        return;
    }
    const int pair = 2 * BFLOAT_ROWS; // which is multiplied at once
    int steps = most_steps(conv), fit = ROUNDED_MAX / MAX(steps * BFLOAT_STEP, 1) / pair * pair;
    conv->bfloat_pixels = MIN(MAX(fit, pair), PIXELS_MAX);
    size_t floats = vector_bfloat_rows_count(conv->bfloat_pixels, steps) / 2;
    conv->bfloat_floats = (floats + LINE_FLOATS - 1) / LINE_FLOATS * LINE_FLOATS;
}

// Pixels that are computed at once: where their inputs are, and their outputs.
struct pixels {
    int count;
    ptrdiff_t in[PIXELS_MAX], out[PIXELS_MAX];
};

// Pixels from `first` on, of rows of `width`.
static void list_pixels(const struct conv *conv, int first, int width, size_t in_row,
                        struct pixels *pixels) {
    size_t b = (size_t)conv->ops->block, row = (size_t)conv->shape.out_w * b;
    size_t high = (size_t)MAX(conv->shape.up_h, 1), wide = (size_t)MAX(conv->shape.up_w, 1);
    size_t y = (size_t)(first / width), x = (size_t)(first % width);
    for (int i = 0; i < pixels->count; i++) {
        pixels->in[i] = (ptrdiff_t)(y * in_row + x * conv->pixel);
        pixels->out[i] = (ptrdiff_t)(y * row * high + x * wide * b);
        if (++x == (size_t)width) {
            x = 0;
            y++;
        }
    }
}

// All pairs of blocks of the unit, for these pixels of a phase.
static void multiply_blocks(const struct conv_pass *run, const struct conv_unit *unit, int row,
                            const struct conv_phase *phase, const struct pixels *pixels) {
    const struct conv *conv = run->conv;
    const struct conv_unit made = conv_unit_outputs(conv, unit);
    int high = MAX(conv->shape.up_h, 1), b = conv->ops->block;
    int steps = vector_bfloat_steps((int64_t)phase->run_count * phase->run_length);
    size_t all = 0, before = 0; // steps of all phases, and of those before
    for (int i = 0; i < conv_phase_count(&conv->shape); i++) {
        const struct conv_phase *other = &conv->phases[i];
        before = other == phase ? all : before;
        all += (size_t)vector_bfloat_steps((int64_t)other->run_count * other->run_length);
    }
    for (int block = unit->block; block < unit->block_end; block += DIRECT_BLOCKS_MAX) {
        struct direct_job target;
        conv_target(run, &target, unit->n, block, row * high, made.column);
        int blocks = MIN(DIRECT_BLOCKS_MAX, unit->block_end - block);
        size_t pair = (size_t)block * all + before * (size_t)blocks;
        struct bfloat_job job = {.a = unit->rounded,
                                 .rows = pixels->count,
                                 .steps = steps,
                                 .weights = conv->weights->bfloat + pair * BFLOAT_TILE,
                                 .block = b,
                                 .columns = blocks * b,
                                 .bias = target.bias,
                                 .low = target.low,
                                 .high = target.high,
                                 .out = target.out + phase->out,
                                 .places = pixels->out,
                                 .out_block = target.out_block,
                                 .add = target.add ? target.add + phase->out : NULL};
        if (block + DIRECT_BLOCKS_MAX < unit->block_end) {
            size_t next = (size_t)(block + DIRECT_BLOCKS_MAX) * all;
            job.ahead = conv->weights->bfloat + next * BFLOAT_TILE;
            job.ahead_count = vector_bfloat_block_count(steps) * (size_t)blocks;
        }
        conv->bfloat->multiply(&job);
    }
}

void conv_bfloat_rows(const struct conv_pass *run, const struct conv_unit *unit, int row, int rows,
                      const float *in, size_t in_row) {
    const struct conv *conv = run->conv;
    int width = unit->column_end - unit->column, all = width * rows;
    int parts = (all + conv->bfloat_pixels - 1) / conv->bfloat_pixels;
    int step = ((all + parts - 1) / parts + BFLOAT_ROWS - 1) / BFLOAT_ROWS * BFLOAT_ROWS;
    struct pixels pixels NOT_ZEROED;
    for (int first = 0; first < all; first += step) {
        pixels.count = MIN(step, all - first);
        list_pixels(conv, first, width, in_row, &pixels);
        for (int i = 0; i < conv_phase_count(&conv->shape); i++) {
            const struct conv_phase *phase = &conv->phases[i];
            const struct bfloat_rows values = {.in = in,
                                               .rows = pixels.in,
                                               .runs = phase->runs,
                                               .count = pixels.count,
                                               .run_count = phase->run_count,
                                               .run_length = phase->run_length};
            int steps = vector_bfloat_steps((int64_t)phase->run_count * phase->run_length);
            conv->bfloat->gather(unit->rounded, steps, &values);
            multiply_blocks(run, unit, row, phase, &pixels);
        }
    }
    const struct conv_unit made = conv_unit_outputs(conv, unit);
    int high = MAX(conv->shape.up_h, 1);
    for (int block = unit->block; block < unit->block_end; block++) {
        conv_complete(run, &made, unit->n, block, row * high, rows * high);
    }
}
