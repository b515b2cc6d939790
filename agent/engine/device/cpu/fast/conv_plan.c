// SPDX-License-Identifier: Apache-2.0
/* Chooses the algorithm, blocks and threads of a convolution from its shape. */
#include <math.h>
#include <stdlib.h>

#include "agent/engine/device/cpu/fast/conv_run.h"

// The maximum size of a thread's window, in floats: a part of the second-level cache (1 MiB on
// current servers, 512 KiB on older ones).
enum { WINDOW_FLOATS = 96 << 10 };
// PART_FLOATS: the weights of a pair of blocks that a thread uses before it continues with the next
// pixels. FAR_FLOATS: with fewer weights, prefetching is not worth it.
enum { PART_FLOATS = 36 << 10, FAR_FLOATS = 64 << 10 };
// WINOGRAD_TILES share one pass over the weights. With at most SHARED_TILES in all, more than two
// threads share the tiles. Two threads divide the rows, even if one gets 4 of 7, because data that
// the other thread wrote is often far away.
enum { WINOGRAD_TILES = 48, SHARED_TILES = 64, APART_THREADS = 2 };

static int divide_up(int value, int by) {
    return (value + by - 1) / by;
}

static int blocks_of(const struct vector_ops *ops, int channels) {
    return divide_up(channels, ops->block);
}

size_t conv_blocked_count(const struct vector_ops *ops, int n, int c, int h, int w) {
    return (size_t)n * (size_t)(blocks_of(ops, c) * ops->block) * (size_t)h * (size_t)w;
}

size_t conv_affine_count(const struct vector_ops *ops, int n, int c) {
    return (size_t)n * 2 * (size_t)(blocks_of(ops, c) * ops->block);
}

bool conv_reads_planar(const struct vector_ops *ops, const struct conv_shape *shape) {
    int channels = shape->depth.kernel ? shape->depth.channels : shape->channels_in;
    return channels <= MAX(ops->block / 2, 4) && shape->groups <= 1;
}

enum conv_algorithm conv_choose(const struct vector_ops *ops, const struct conv_shape *s,
                                bool planar, int threads) {
    if (s->depthwise || conv_groups_share(ops, s)) {
        return CONV_DEPTHWISE;
    }
    if ((planar && conv_reads_planar(ops, s)) || s->groups > 1 || s->transposed) {
        return CONV_DIRECT;
    }
    if (s->channels_out <= THIN_OUTPUTS_MAX && !s->depth.kernel) {
        return CONV_THIN;
    }
    if (s->is_whole || s->kernel_h != 3 || s->kernel_w != 3 || s->extent_h != 3 ||
        s->extent_w != 3 || s->stride_h != s->stride_w || s->stride_h > 2 ||
        s->channels_in < ops->block || blocks_of(ops, s->channels_in) > WINOGRAD_BLOCKS_MAX ||
        s->channels_out < ops->block) {
        return CONV_DIRECT;
    }
    // Winograd's F(4x4) does 36 products for 16 outputs (144 directly), F(2x2) 16 for 4, or 25 with
    // a stride, but their weights are 36/9, 16/9 and 25/9 as large. Costs are in floating-point
    // operations of one thread: a byte of weights, which is read from memory once, costs 5; two
    // threads read twice as fast, more do not help; a value of a window costs 32 to transform and
    // to move. Measured on ResNet-50, each layer each way, with one thread and two.
    double ins = s->channels_in, outs = s->channels_out, byte = 5. / MIN(threads, 2);
    double least =
        18. * ins * outs * s->n * s->out_h * s->out_w / threads + 9 * 4 * ins * outs * byte;
    enum conv_algorithm best = CONV_DIRECT;
    for (enum conv_algorithm a = CONV_WINOGRAD_STRIDED; a >= CONV_WINOGRAD; a--) {
        const struct winograd_ops *winograd = conv_winograd(ops, a);
        int t = winograd->tile, window = winograd->side * winograd->side;
        double tiles = (double)s->n * divide_up(s->out_h, t) * divide_up(s->out_w, t);
        double cost = tiles * window * (2 * ins * outs + 32 * (ins + outs)) / threads +
                      window * 4 * ins * outs * byte;
        // A small gain is not worth the memory of larger weights.
        if (winograd->stride == s->stride_h && cost < 0.9 * least) {
            least = cost;
            best = a;
        }
    }
    return best;
}

const struct winograd_ops *conv_winograd(const struct vector_ops *ops,
                                         enum conv_algorithm algorithm) {
    bool is = algorithm >= CONV_WINOGRAD && algorithm <= CONV_WINOGRAD_STRIDED;
    return is ? &ops->winograd[algorithm - CONV_WINOGRAD] : NULL;
}

// Blocks of input, and of output channels of a group.
static int group_ins(const struct conv *conv) {
    return blocks_of(conv->ops, conv->shape.channels_in) / conv->groups;
}

static int group_outs(const struct conv *conv) {
    return blocks_of(conv->ops, conv->shape.channels_out) / conv->groups;
}

// Lists the runs of a phase behind those before; returns its number of runs.
static int plan_phase(struct conv *conv, int index, ptrdiff_t *runs) {
    const struct conv_shape *s = &conv->shape;
    int b = conv->ops->block, wide = MAX(s->up_w, 1);
    bool planar = conv->weights->planar;
    size_t lanes = planar ? 1 : (size_t)b;
    size_t row = conv->in_place ? (size_t)s->in_w * lanes : conv->window_row;
    size_t group =
        conv->in_place ? (size_t)s->in_h * (size_t)s->in_w * lanes : (size_t)conv->window_w * lanes;
    enum conv_algorithm algorithm = conv->weights->algorithm;
    int groups = algorithm == CONV_DEPTHWISE ? 1 : planar ? s->channels_in : group_ins(conv);
    bool pixels = algorithm == CONV_THIN || algorithm == CONV_DEPTHWISE; // run_length counts pixels
    const struct conv_taps y = conv_taps_h(s, index / wide), x = conv_taps_w(s, index % wide);
    // The kernel's columns are adjacent unless it is dilated.
    int together = MAX(s->dilation_w, 1) == 1 ? x.count : 1, pieces = x.count / together;
    int count = groups * y.count * pieces;
    for (int r = 0; r < count; r++) {
        int kx = x.first + r % pieces, ky = y.first + r / pieces % y.count;
        size_t at = (size_t)(r / pieces / y.count) * group +
                    (size_t)(ky * MAX(s->dilation_h, 1)) * row +
                    (size_t)(kx * MAX(s->dilation_w, 1)) * lanes;
        runs[r] = (ptrdiff_t)at;
    }
    struct conv_phase *phase = &conv->phases[index];
    phase->runs = runs;
    phase->run_count = count;
    phase->run_length = pixels ? together : together * (int)lanes;
    int part = MAX(PART_FLOATS / (phase->run_length * DIRECT_BLOCKS_MAX * b), 1);
    phase->part_runs = divide_up(count, divide_up(count, part));
    phase->weights = conv->pixel_values;
    phase->out = ((size_t)(index / wide) * (size_t)s->out_w + (size_t)(index % wide)) * (size_t)b;
    conv->pixel_values += (size_t)count * (size_t)phase->run_length;
    return count;
}

static void plan_runs(struct conv *conv) {
    const struct conv_shape *s = &conv->shape;
    bool planar = conv->weights->planar;
    int groups = planar ? s->channels_in : group_ins(conv), phases = conv_phase_count(s);
    conv->pixel = (planar ? 1 : (size_t)conv->ops->block) * (size_t)s->stride_w;
    conv->phases = x_calloc((size_t)phases, sizeof *conv->phases);
    conv->runs = x_calloc((size_t)(groups * s->kernel_h * s->kernel_w), sizeof *conv->runs);
    conv->pixel_values = 0;
    int runs = 0;
    for (int i = 0; i < phases; i++) {
        runs += plan_phase(conv, i, conv->runs + runs);
    }
    conv->run_count = conv->phases[0].run_count;
    conv->run_length = conv->phases[0].run_length;
}

// Where part `index` of `parts` of `total` begins (total for index == parts). Parts are multiples
// of `step` and as equal as possible.
static int part_begin(int total, int step, int parts, int index) {
    return MIN((int)((int64_t)divide_up(total, step) * index / parts) * step, total);
}

// The size of the largest part.
static int part_size(int total, int step, int parts) {
    return divide_up(divide_up(total, step), parts) * step;
}

// The number of parts: at most `wanted`, and none of them empty.
static int parts_of(int total, int step, int wanted) {
    int steps = divide_up(total, step);
    return divide_up(steps, divide_up(steps, MAX(wanted, 1)));
}

static int wide_of(const struct conv *conv) {
    const struct conv_shape *s = &conv->shape;
    return conv->flat ? s->out_h * s->out_w : conv_grid_w(s);
}

// Computes the sizes of parts from the numbers of parts.
static void size_units(struct conv *conv) {
    conv->columns = part_size(wide_of(conv), conv->column_step, conv->column_units);
    conv->rows = part_size(conv->span, conv->row_step, conv->row_units);
    conv->blocks = part_size(group_outs(conv), DIRECT_BLOCKS_MAX, conv->block_units / conv->groups);
    conv->units = conv->images * conv->row_units * conv->column_units * conv->block_units;
}

// The share of the thread with the most work, times the number of threads: 1 is the optimum.
// Threads begin with equal numbers of consecutive units (parallel.c).
static double heaviest_share(const struct conv *conv) {
    double most = 0;
    int units = conv->images * conv->row_units * conv->column_units * conv->block_units;
    for (int lane = 0; lane < conv->threads; lane++) {
        double work = 0;
        int end = (int)((int64_t)units * (lane + 1) / conv->threads);
        for (int i = (int)((int64_t)units * lane / conv->threads); i < end; i++) {
            struct conv_unit unit;
            conv_unit_bounds(conv, i, &unit);
            work += (double)(unit.block_end - unit.block) * (unit.column_end - unit.column) *
                    (unit.row_end - unit.row);
        }
        most = MAX(most, work);
    }
    double all = (double)conv->images * conv->span * wide_of(conv) *
                 blocks_of(conv->ops, conv->shape.channels_out);
    return most * conv->threads / all;
}

// Chooses a number of parts from `least` to `most` that gives all threads the same work;
// divide_blocks divides the blocks for that number. Each further part costs a pass over the
// weights.
static void balance(struct conv *conv, int *parts, int least, int most,
                    void (*divide_blocks)(struct conv *conv)) {
    int first = *parts, best = first;
    double cost = INFINITY;
    for (int count = MAX(least, 1); count <= MAX(most, first) && conv->threads > 1; count++) {
        *parts = count;
        divide_blocks(conv);
        double here = heaviest_share(conv) + 0.01 * count / first;
        if (here < cost) {
            cost = here;
            best = count;
        }
    }
    *parts = best;
    divide_blocks(conv);
}

// Divides the blocks into about `wanted` parts.
static void divide_to(struct conv *conv, int wanted) {
    int of_group = divide_up(wanted, conv->groups);
    conv->block_units = conv->groups * parts_of(group_outs(conv), DIRECT_BLOCKS_MAX, of_group);
}

static void divide_flat_blocks(struct conv *conv) {
    int wanted = divide_up(8 * conv->threads, conv->shape.n * conv->column_units);
    divide_to(conv, conv->threads == 1 ? 1 : wanted);
}

// 1x1 without stride, read in place: the activation is one long row.
static void plan_flat(struct conv *conv) {
    const struct conv_shape *s = &conv->shape;
    int pixels = s->out_h * s->out_w, fit = MAX(WINDOW_FLOATS * conv->groups / s->channels_in, 56);
    conv->column_step = 14;
    int parts = parts_of(pixels, 14, divide_up(pixels, fit));
    conv->column_units = parts;
    conv->row_units = conv->row_group = 1;
    int least = parts - (parts > 1 && pixels <= (parts - 1) * (fit + fit / 16));
    int most = MIN(parts + 2, divide_up(pixels, 14));
    // A single pixel is summed in another order, and results must not depend on the number of
    // threads.
    bool free = pixels % 14 != 1;
    balance(conv, &conv->column_units, free ? least : parts, free ? most : parts,
            divide_flat_blocks);
    size_units(conv);
}

// Sets the window for units of these columns and rows: it has as many rows as fit into `floats`.
static void plan_window(struct conv *conv, int lanes, int floats) {
    const struct conv_shape *s = &conv->shape;
    conv->window_w = (conv->columns - 1) * s->stride_w + s->extent_w;
    conv->window_row = (size_t)lanes * (size_t)conv->window_w;
    int most = (int)((size_t)floats / conv->window_row);
    conv->row_group = MAX((most - s->extent_h) / s->stride_h + 1, 1);
    conv->row_group = MIN(conv->row_group, conv->rows);
    conv->window_rows = (conv->row_group - 1) * s->stride_h + s->extent_h;
    conv->window_floats = conv->in_place ? 0 : conv->window_row * (size_t)conv->window_rows;
}

static void divide_blocks(struct conv *conv) {
    int wanted = divide_up(4 * conv->threads, conv->images * conv->column_units * conv->row_units);
    bool divided = conv->threads > 1 && conv->weights->algorithm != CONV_THIN;
    divide_to(conv, divided ? wanted : 1);
}

static void plan_units(struct conv *conv) {
    const struct conv_shape *s = &conv->shape;
    int lanes = conv->weights->planar ? s->channels_in : group_ins(conv) * conv->ops->block;
    size_t weights = conv->weights->count / (size_t)conv->groups;
    int wide = wide_of(conv);
    int64_t per_pixel = (int64_t)lanes * (2 * s->extent_h + s->stride_h) * s->stride_w;
    int fit = (int)MAX(WINDOW_FLOATS / per_pixel / 8 * 8, 32);
    conv->column_step = wide > fit ? 4 : 1;
    conv->column_units = parts_of(wide, conv->column_step, divide_up(wide, fit));
    int wanted = divide_up(8 * conv->threads, conv->images * conv->column_units);
    int rows = MIN(MAX(divide_up(conv->span, wanted), 2 * s->extent_h), conv->span);
    // Each unit reads all weights. So rows are not divided if they are few, or if they are read in
    // place and are smaller than the weights; otherwise they are divided into equal parts.
    bool whole = conv->span < 3 * s->extent_h ||
                 (conv->in_place && (size_t)(conv->span * wide) < weights / (size_t)lanes);
    conv->row_units = whole ? 1 : divide_up(conv->span, rows);
    int parts = conv->row_units;
    balance(conv, &conv->row_units, parts - (parts > 2), whole ? 1 : MIN(parts + 2, conv->span),
            divide_blocks);
    size_units(conv);
    // Each group of rows reads all weights: if these are many, one group should have all rows.
    bool many = weights > 4 * (size_t)WINDOW_FLOATS;
    plan_window(conv, lanes, many ? WINDOW_FLOATS / 3 * 4 : WINDOW_FLOATS);
}

// A unit is a pair of blocks of channels. If there are too few pairs, rows are divided, too; then
// rows at the edge between two units are read, or made, twice.
static void plan_depthwise(struct conv *conv) {
    const struct conv_shape *s = &conv->shape;
    int b = conv->ops->block, threads = conv->threads,
        blocks = blocks_of(conv->ops, s->channels_out);
    conv->block_units = divide_up(blocks, DIRECT_BLOCKS_MAX);
    int lanes = MIN(blocks, DIRECT_BLOCKS_MAX) * b;
    int fit = MAX(WINDOW_FLOATS / (lanes * (2 * s->extent_h + s->stride_h) * s->stride_w), 32);
    conv->column_step = 4;
    conv->column_units = parts_of(s->out_w, 4, divide_up(s->out_w, fit));
    int units = conv->images * conv->column_units * conv->block_units, bands = 1;
    while (threads > 1 && bands * 2 < conv->span && units * bands < 8 * threads &&
           (units * bands < 3 * threads || units * bands % threads)) {
        bands++;
    }
    conv->row_units = bands;
    size_units(conv);
    plan_window(conv, lanes, WINDOW_FLOATS / 3);
}

// A group of tiles shares one pass over the weights, so it must be large enough to make up for
// reading them. If an activation has too few tiles for all threads, the output's channels are
// divided among threads.
static void plan_winograd(struct conv *conv) {
    const struct conv_shape *s = &conv->shape;
    int b = conv->ops->block, ins = blocks_of(conv->ops, s->channels_in), threads = conv->threads;
    int t = conv->winograd->tile, side = conv->winograd->side, tiles = divide_up(s->out_w, t);
    size_t window = (size_t)(side * side);
    conv->column_step = conv->row_step = t;
    conv->column_units = divide_up(tiles, WINOGRAD_TILES);
    tiles = divide_up(tiles, conv->column_units);
    int tile_rows = divide_up(conv->span, t), group = MAX(WINOGRAD_TILES / tiles, 1);
    conv->shared = threads > APART_THREADS && conv->images == 1 && conv->column_units == 1 &&
                   tiles * tile_rows <= SHARED_TILES;
    int wanted = threads == 1 ? 1 : divide_up(8 * threads, conv->images * conv->column_units);
    int parts = MIN(wanted, divide_up(tile_rows, group));
    if (conv->shared) {
        group = tile_rows;
        parts = 1;
    }
    conv->row_units = parts;
    balance(conv, &conv->row_units, parts, conv->shared ? 1 : MIN(parts + 2, tile_rows),
            divide_blocks);
    size_units(conv);
    // A unit's groups are as equal as its rows allow.
    int unit_rows = conv->rows / t;
    conv->row_group = t * divide_up(unit_rows, divide_up(unit_rows, group));
    conv->window_rows = side;
    conv->window_w = (conv->columns - t) * conv->winograd->stride + side;
    conv->window_row = (size_t)(conv->shared ? b : ins * b) * (size_t)conv->window_w;
    conv->window_floats = conv->window_row * (size_t)conv->window_rows;
    tiles *= conv->row_group / t;
    // Matrices of all input blocks, then of one pair of output blocks. The sizes avoid planes that
    // begin at the same cache set.
    size_t in = window * (size_t)((ins * tiles + 1) * b);
    conv->thread_floats = window * (size_t)((DIRECT_BLOCKS_MAX * tiles + 1) * b);
    conv->thread_floats += conv->shared ? 0 : in;
    conv->shared_floats = conv->shared ? (in + 15) / 16 * 16 : 0;
}

void conv_unit_bounds(const struct conv *conv, int index, struct conv_unit *unit) {
    int outs = group_outs(conv), wide = wide_of(conv), parts = conv->block_units / conv->groups;
    int block = index % parts, first = index / parts % conv->groups * outs;
    unit->block = first + part_begin(outs, DIRECT_BLOCKS_MAX, parts, block);
    unit->block_end = first + part_begin(outs, DIRECT_BLOCKS_MAX, parts, block + 1);
    index /= conv->block_units;
    int column = index % conv->column_units;
    unit->column = part_begin(wide, conv->column_step, conv->column_units, column);
    unit->column_end = part_begin(wide, conv->column_step, conv->column_units, column + 1);
    index /= conv->column_units;
    int row = index % conv->row_units;
    unit->row = part_begin(conv->span, conv->row_step, conv->row_units, row);
    unit->row_end = part_begin(conv->span, conv->row_step, conv->row_units, row + 1);
    unit->n = index / conv->row_units;
}

void conv_plan(struct conv *conv, int threads, bool in_blocked, bool in_pending) {
    const struct conv_shape *s = &conv->shape;
    enum conv_algorithm algorithm = conv->weights->algorithm;
    bool padded = s->pad_top || s->pad_left || s->pad_bottom || s->pad_right;
    conv->threads = threads;
    conv->groups = algorithm == CONV_DEPTHWISE ? 1 : MAX(s->groups, 1);
    conv->winograd = conv_winograd(conv->ops, algorithm);
    conv->in_place = algorithm == CONV_DIRECT && in_blocked && !in_pending && !padded &&
                     !s->doubled && !conv->weights->planar && !s->depth.kernel;
    conv->flat = conv->in_place && s->kernel_h == 1 && s->kernel_w == 1 && s->stride_h == 1 &&
                 s->stride_w == 1;
    int b = conv->ops->block;
    // Winograd reads its weights once for many tiles, so several small activations are treated as
    // one long activation; but not with statistics, which belong to one sample.
    bool chained = conv->winograd && !conv->normed;
    int t = chained ? conv->winograd->tile : 1;
    conv->images = chained ? 1 : s->n;
    conv->span = chained ? s->n * divide_up(s->out_h, t) * t : conv->flat ? 1 : conv_grid_h(s);
    conv->column_step = conv->row_step = 1;
    if (conv->flat) {
        plan_flat(conv);
    } else if (conv->winograd) {
        plan_winograd(conv);
    } else if (algorithm == CONV_DEPTHWISE) {
        plan_depthwise(conv);
    } else {
        plan_units(conv);
    }
    // A row-major source row is converted to blocks here.
    conv->line_floats = in_blocked ? 0 : (size_t)s->in_w * (size_t)b;
    plan_runs(conv);
    conv_bfloat_plan(conv);
    conv->thread_floats += conv->window_floats + conv->line_floats;
    conv->thread_floats = (conv->thread_floats + 15) / 16 * 16 + conv->bfloat_floats;
    conv->far = conv->weights->count >= FAR_FLOATS;
    size_t moments = conv->normed ? 2 * (size_t)(conv->units * conv->blocks * b) : 0;
    conv->scratch_bytes =
        (moments * sizeof(double)) + 64 +
        (conv->shared_floats + (size_t)threads * conv->thread_floats) * sizeof(float);
}

void conv_release(struct conv *conv) {
    free(conv->runs);
    free(conv->phases);
    conv->runs = NULL;
    conv->phases = NULL;
}
