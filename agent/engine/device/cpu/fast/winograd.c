// SPDX-License-Identifier: Apache-2.0
// Winograd's F(t x t, 3x3): windows of (t + 2) x (t + 2) pixels, t apart, are transformed to (t +
// 2)^2 matrices [tiles, channels in], which are multiplied by the transformed weights; the products
// are transformed back to tiles of t x t outputs. With stride 2 the windows have 5 x 5 pixels and
// are 4 apart. There a line is split into two of stride 1, each of every other pixel: F(2, 2) for
// the first and third tap, with three products instead of four, and the second tap, which saves
// nothing: 25 products instead of 36.
#include <string.h>

#include "agent/engine/device/cpu/fast/conv_run.h"

struct group {
    int tiles, tiles_row; /* in all; in a row */
    size_t in_plane, out_plane;
    float *in, *out; /* [matrices][channel block, tiles, b]; [matrices][2, tiles, b] */
};

static struct group group_of(const struct conv *conv, const struct conv_unit *unit, int row,
                             int row_end) {
    int t = conv->winograd->tile, b = conv->ops->block;
    struct group group = {.tiles_row = (unit->column_end - unit->column + t - 1) / t};
    group.tiles = group.tiles_row * ((row_end - row + t - 1) / t);
    group.in_plane = (size_t)(((conv->shape.channels_in + b - 1) / b * group.tiles + 1) * b);
    group.out_plane = (size_t)((DIRECT_BLOCKS_MAX * group.tiles + 1) * b);
    return group;
}

static size_t matrices_of(const struct conv *conv) {
    return (size_t)(conv->winograd->side * conv->winograd->side);
}

// The sample and its row for a row of the span.
static int image_of(const struct conv *conv, const struct conv_unit *unit, int row, int *ret_row) {
    int t = conv->winograd->tile;
    int tall = conv->images == 1 ? (conv->shape.out_h + t - 1) / t * t : conv->span;
    *ret_row = conv->images == 1 ? row % tall : row;
    return conv->images == 1 ? row / tall : unit->n;
}

// Transforms the unit's groups of channels.
static void transform_in(const struct conv_pass *run, const struct conv_unit *unit,
                         const struct group *group, int row, int row_end) {
    const struct conv *conv = run->conv;
    size_t b = (size_t)conv->ops->block;
    int t = conv->winograd->tile, side = conv->winograd->side, stride = conv->winograd->stride;
    for (int at = row, tile = 0; at < row_end; at += t, tile += group->tiles_row) {
        int y, first = 0, n = image_of(conv, unit, at, &y);
        if (at > row && y > 0) { // the window above ended with the first rows of this one
            first = side - t * stride;
            memmove(unit->window, unit->window + (size_t)(t * stride) * conv->window_row,
                    (size_t)first * conv->window_row * sizeof(float));
        }
        conv_window_load(run, unit, n, first, side, y * stride + first);
        for (int block = unit->group; block < unit->group_end; block++) {
            float *to = group->in + ((size_t)block * (size_t)group->tiles + (size_t)tile) * b;
            const float *window =
                unit->window + (size_t)(block - unit->group) * (size_t)conv->window_w * b;
            conv->winograd->input(to, group->in_plane, window, conv->window_row, group->tiles_row);
        }
    }
}

static void multiply(const struct conv *conv, const struct group *group, int block, int blocks,
                     const ptrdiff_t *runs, int run_count) {
    size_t b = (size_t)conv->ops->block, ins = (size_t)run_count * b, count = matrices_of(conv);
    size_t matrix = ins * (size_t)blocks * b;
    const float *weights = conv->weights->data + (size_t)block * b * ins * count;
    const float *end = conv->weights->data + conv->weights->count;
    for (size_t k = 0; k < count; k++) {
        struct direct_job job = {
            .width = group->tiles,
            .rows = 1,
            .blocks = blocks,
            .in = group->in + k * group->in_plane,
            .pixel = b,
            .runs = runs,
            .run_count = run_count,
            .run_length = (int)b,
            .weights = weights + k * matrix,
            .low = -__builtin_inff(),
            .high = __builtin_inff(),
            .out = group->out + k * group->out_plane,
            .out_block = (size_t)group->tiles * b,
        };
        if (conv->far) { // the next matrix, of the next pair behind this one's last
            job.ahead = job.weights + matrix;
            job.ahead_count = MIN(matrix, (size_t)(end - job.ahead));
        }
        conv->ops->direct(&job);
    }
}

static void transform_out(const struct conv_pass *run, const struct conv_unit *unit,
                          const struct group *group, int block, int row, int row_end) {
    const struct conv *conv = run->conv;
    size_t b = (size_t)conv->ops->block;
    int t = conv->winograd->tile;
    for (int at = row, tile = 0; at < row_end; at += t, tile += group->tiles_row) {
        int y, n = image_of(conv, unit, at, &y);
        int blocks = (conv->shape.channels_out + conv->ops->block - 1) / conv->ops->block;
        for (int i = 0; i < MIN(DIRECT_BLOCKS_MAX, blocks - block); i++) {
            struct direct_job job = {.width = unit->column_end - unit->column,
                                     .rows = MIN(t, conv->shape.out_h - y)};
            conv_target(run, &job, n, block + i, y, unit->column);
            conv->winograd->output(
                &job, group->out + ((size_t)i * (size_t)group->tiles + (size_t)tile) * b,
                group->out_plane);
            conv_complete(run, unit, n, block + i, y, job.rows);
        }
    }
}

void winograd_share(const struct conv_pass *run, const struct conv_unit *unit) {
    struct group group = group_of(run->conv, unit, unit->row, unit->row_end);
    group.in = run->shared;
    transform_in(run, unit, &group, unit->row, unit->row_end);
}

void winograd_unit(const struct conv_pass *run, const struct conv_unit *unit, bool held) {
    const struct conv *conv = run->conv;
    int b = conv->ops->block, ins = (conv->shape.channels_in + b - 1) / b;
    int outs = (conv->shape.channels_out + b - 1) / b;
    for (int row = unit->row; row < unit->row_end; row += conv->row_group) {
        int row_end = MIN(row + conv->row_group, unit->row_end);
        struct group group = group_of(conv, unit, row, row_end);
        group.in = conv->shared ? run->shared : unit->matrices;
        group.out = unit->matrices + (conv->shared ? 0 : matrices_of(conv) * group.in_plane);
        if (!conv->shared && !held) {
            transform_in(run, unit, &group, row, row_end);
        }
        ptrdiff_t runs[WINOGRAD_BLOCKS_MAX];
        for (int i = 0; i < ins; i++) {
            runs[i] = (ptrdiff_t)i * group.tiles * b;
        }
        for (int block = unit->block; block < unit->block_end; block += DIRECT_BLOCKS_MAX) {
            multiply(conv, &group, block, MIN(DIRECT_BLOCKS_MAX, outs - block), runs, ins);
            transform_out(run, unit, &group, block, row, row_end);
        }
    }
}
