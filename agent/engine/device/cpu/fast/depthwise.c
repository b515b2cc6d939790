// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions: each channel has a separate kernel. A unit of work is some blocks of
// channels and some rows. If a fused 1x1 convolution makes the input, a unit computes its blocks of
// that itself, row by row into its window, so they never leave the processor's cache.
#include <string.h>

#include "agent/engine/device/cpu/fast/conv_run.h"

void depthwise_rows(const struct conv_pass *run, const struct conv_unit *unit, int row, int rows,
                    const float *in, size_t in_row) {
    const struct conv *conv = run->conv;
    size_t b = (size_t)conv->ops->block;
    size_t taps = (size_t)(conv->shape.kernel_h * conv->shape.kernel_w);
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
        conv->ops->depthwise(&job);
    }
}

// Rows [top, bottom) and columns [left, right) of sample n, and their place in the window.
struct made_part {
    int n, top, bottom, left, right;
    float *out;
};

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
