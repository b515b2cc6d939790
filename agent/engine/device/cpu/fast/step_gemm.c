// SPDX-License-Identifier: Apache-2.0
// Products with a constant matrix, fused with the constant row that is added to them and the relu
// or clip that follows. A product is computed as a 1x1 convolution whose pixels are the rows of the
// other matrix.
//
// With several rows, they are first copied to tiles of TILE rows, [k / b][rows of the tile][b], a
// block of TILES tiles at a time. Then each unit of work, some pairs of blocks of columns,
// processes k in pieces: a piece of a block of rows stays in the second-level cache for all columns
// of the unit, and the weights are read from memory once for each block of rows.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/engine/device/cpu/fast/parallel.h"
#include "agent/engine/device/cpu/fast/steps.h"
#include "agent/engine/device/cpu/fast/weights_cache.h"
#include "agent/engine/ops/table.h"

enum { TILE = 28, TILES = 10, PIECE = 512, PAIRS = 4 /* the maximum of a unit */ };

struct gemm_step {
    int m, k, n;
    float low, high;                    /* the results are clamped to these */
    const struct conv_weights *weights; /* borrowed from the cache */
    int tiles, runs;                    /* of a block; of a tile: blocks of k */
    int pairs, unit_pairs;              /* pairs of blocks of columns: all, and per unit */
    size_t tile_floats, lane_floats;    /* in the scratch: tiles, then a piece per thread */
};

static bool is_constant(const struct schedule *schedule, int slot) {
    return schedule->slots[slot].is_lasting && schedule->slots[slot].type == TENSOR_FLOAT32;
}

static const struct conv_weights *cached_weights(struct cpu_device *cpu,
                                                 const struct schedule *schedule,
                                                 const struct step *step, int bias_slot,
                                                 const struct gemm_step *gemm) {
    const struct schedule_slot *b = &schedule->slots[step->inputs[1]];
    const float *bias = bias_slot < 0 ? NULL : schedule->slots[bias_slot].constant;
    struct weights_key key = {step->node, b->constant, bias, NULL, CONV_DIRECT, true};
    struct conv_weights *weights = weights_cache_get(cpu->weights, &key);
    if (weights) {
        return weights;
    }
    float alpha = node_number(step->node, "alpha", 1), beta = node_number(step->node, "beta", 1);
    float *scale = x_calloc((size_t)gemm->n, sizeof *scale);
    float *shift = x_calloc((size_t)gemm->n, sizeof *shift);
    for (int i = 0; i < gemm->n; i++) {
        scale[i] = alpha;
        shift[i] = bias ? bias[i] * beta : 0;
    }
    struct conv_shape shape = {
        .n = 1, .channels_in = gemm->k, .channels_out = gemm->n, .kernel_h = 1, .kernel_w = 1};
    struct conv_source source = {.weights = b->constant,
                                 .scale = scale,
                                 .shift = shift,
                                 .transposed = !node_integer(step->node, "transB", 0)};
    weights = conv_weights_new(cpu->vectors, &shape, CONV_DIRECT, true, &source);
    weights_cache_put(cpu->weights, &key, weights);
    free(scale);
    free(shift);
    return weights;
}

// Whether the slot is a constant row of n numbers, which a product can add.
static bool is_row(const struct schedule *schedule, int slot, int64_t n) {
    const struct shape *shape = &schedule->slots[slot].shape;
    return is_constant(schedule, slot) && shape->rank > 0 && shape_count(shape) == n &&
           shape->dims[shape->rank - 1] == n;
}

// Fuses an addition of a constant row that is the only reader of the product, as exporters write a
// layer of a transformer. *ret_bias is its slot; -1: there is none.
static struct step *take_bias(struct schedule *schedule, struct step *step, int64_t n,
                              int *ret_bias) {
    struct step *user = schedule_only_user(schedule, step->outputs[0]);
    *ret_bias = -1;
    if (!user || user->kernel || user->node->op->id != OP_ADD || step->input_count > 2 ||
        node_number(step->node, "beta", 1) != 1) { // of a Gemm without a row of its own
        return step;
    }
    int other = user->inputs[user->inputs[0] == step->outputs[0]];
    if (other < 0 || !is_row(schedule, other, n)) {
        return step;
    }
    *ret_bias = other;
    return schedule_absorb(schedule, step, user);
}

// Fuses a relu or clip that is the only reader of the product.
static struct step *take_bounds(struct schedule *schedule, struct step *step) {
    struct gemm_step *gemm = step->state;
    struct step *user = schedule_only_user(schedule, step->outputs[0]);
    bool bounds = user && user->node && !user->kernel &&
                  (user->node->op->id == OP_RELU || user->node->op->id == OP_CLIP) &&
                  fuse_bounds(schedule, user, &gemm->low, &gemm->high);
    return bounds ? schedule_absorb(schedule, step, user) : step;
}

static void plan_product(const struct cpu_device *cpu, struct step *step) {
    struct gemm_step *gemm = step->state;
    int b = cpu->vectors->block, threads = threads_count(cpu->threads);
    gemm->pairs = (gemm->n + DIRECT_BLOCKS_MAX * b - 1) / (DIRECT_BLOCKS_MAX * b);
    if (gemm->m == 1) {
        return; // it is read in place
    }
    gemm->tiles = MIN((gemm->m + TILE - 1) / TILE, TILES);
    gemm->runs = (gemm->k + b - 1) / b;
    gemm->unit_pairs = MAX(MIN(gemm->pairs / (4 * threads), PAIRS), 1);
    gemm->tile_floats = (size_t)gemm->runs * (size_t)(TILE * b);
    size_t room = (size_t)(gemm->unit_pairs * DIRECT_BLOCKS_MAX * gemm->tiles * TILE * b);
    gemm->lane_floats = room;
    step->scratch_bytes =
        ((size_t)gemm->tiles * gemm->tile_floats + (size_t)threads * gemm->lane_floats) *
        sizeof(float);
}

void step_gemm_try(struct cpu_device *cpu, struct schedule *schedule, struct step *step) {
    if (step->node->op->id != OP_GEMM && step->node->op->id != OP_MATMUL) {
        return;
    }
    const struct schedule_slot *a = &schedule->slots[step->inputs[0]];
    const struct schedule_slot *b = &schedule->slots[step->inputs[1]];
    const struct schedule_slot *y = &schedule->slots[step->outputs[0]];
    if (a->type != TENSOR_FLOAT32 || !is_constant(schedule, step->inputs[1]) || a->shape.rank < 2 ||
        b->shape.rank != 2 || node_integer(step->node, "transA", 0)) {
        return;
    }
    int64_t n = y->shape.dims[y->shape.rank - 1], k = a->shape.dims[a->shape.rank - 1];
    int64_t elements = shape_count(&y->shape);
    if (n < 1 || k < 1 || elements < 1 || n * k > INT32_MAX || elements > INT32_MAX) {
        return;
    }
    int bias = step->input_count > 2 ? step->inputs[2] : -1, added;
    if (bias >= 0 && !is_row(schedule, bias, n)) {
        return;
    }
    step = take_bias(schedule, step, n, &added);
    struct gemm_step *state = x_calloc(1, sizeof *state);
    *state = (struct gemm_step){
        .m = (int)(elements / n), .k = (int)k, .n = (int)n, .low = -INFINITY, .high = INFINITY};
    state->weights = cached_weights(cpu, schedule, step, MAX(bias, added), state);
    step->state = state;
    step->release = free;
    step->kernel = &fast_gemm;
    plan_product(cpu, take_bounds(schedule, step));
}

struct product {
    const struct vector_ops *ops;
    const struct gemm_step *step;
    const float *a;
    float *out, *tiles, *rooms;
    int first, rows; /* of the present block of rows */
};

// A job for the pair of blocks of columns that begins at `column`, from row `k` of the weights on.
static struct direct_job job_at(const struct product *p, int column, int k) {
    const struct gemm_step *step = p->step;
    int b = p->ops->block, blocks = MIN(DIRECT_BLOCKS_MAX, (step->n - column + b - 1) / b);
    return (struct direct_job){.rows = 1,
                               .blocks = blocks,
                               .weights = step->weights->data + (size_t)column * (size_t)step->k +
                                          (size_t)k * (size_t)(blocks * b),
                               .bias = k == 0 ? step->weights->bias + column : NULL,
                               .low = -INFINITY,
                               .high = INFINITY};
}

// Computes a unit of a product with one row.
static void row_unit(void *context, int index, int lane UNUSED) {
    const struct product *p = context;
    const struct gemm_step *step = p->step;
    int b = p->ops->block, column = index * DIRECT_BLOCKS_MAX * b;
    const ptrdiff_t runs[1] = {0};
    float room[DIRECT_BLOCKS_MAX * VECTOR_LANES_MAX] __attribute__((aligned(64)));
    struct direct_job job = job_at(p, column, 0);
    job.width = 1;
    job.in = p->a;
    job.runs = runs;
    job.run_count = 1;
    job.run_length = step->k;
    job.low = step->low;
    job.high = step->high;
    job.out = room;
    job.out_block = (size_t)b;
    p->ops->direct(&job);
    memcpy(p->out + column, room, (size_t)MIN(job.blocks * b, step->n - column) * sizeof(float));
}

static void lay_out_tile(void *context, int index, int lane UNUSED) {
    const struct product *p = context;
    const struct gemm_step *step = p->step;
    int b = p->ops->block, rows = MIN(TILE, p->rows - index * TILE);
    const float *from = p->a + (size_t)(p->first + index * TILE) * (size_t)step->k;
    float *to = p->tiles + (size_t)index * step->tile_floats;
    for (int k = 0; k < step->k; k += b) {
        for (int row = 0; row < rows; row++, to += b) {
            memcpy(to, from + (size_t)row * (size_t)step->k + k,
                   (size_t)MIN(b, step->k - k) * sizeof(float));
        }
    }
}

// Multiplies a piece of k, `length` from `k` on, for one tile and one pair of blocks of columns.
static void multiply_piece(const struct product *p, int tile, int column, int k, int length,
                           float *out) {
    const struct gemm_step *step = p->step;
    int b = p->ops->block, rows = MIN(TILE, p->rows - tile * TILE);
    ptrdiff_t runs[PIECE / 4] = {0};
    struct direct_job job = job_at(p, column, k);
    job.width = rows;
    job.in = p->tiles + (size_t)tile * step->tile_floats + (size_t)k * (size_t)rows;
    job.pixel = (size_t)b;
    job.runs = runs;
    job.run_count = length / b;
    job.run_length = b;
    job.out = out;
    job.out_block = (size_t)(p->rows * b);
    job.add = k ? out : NULL;
    bool is_last = k + length == step->k;
    int rest = length % b; // of the last block of k
    for (int i = 0; i < job.run_count; i++) {
        runs[i] = (ptrdiff_t)i * rows * b;
    }
    if (job.run_count) {
        job.low = is_last && !rest ? step->low : -INFINITY;
        job.high = is_last && !rest ? step->high : INFINITY;
        p->ops->direct(&job);
    }
    if (rest) {
        int begin = k + length - rest;
        job.weights += (size_t)(length - rest) * (size_t)(job.blocks * b);
        job.in += (size_t)(length - rest) * (size_t)rows;
        job.bias = begin ? NULL : job.bias;
        job.add = begin ? out : NULL;
        job.run_count = 1;
        job.run_length = rest;
        job.low = step->low;
        job.high = step->high;
        p->ops->direct(&job);
    }
}

static void product_unit(void *context, int index, int lane) {
    const struct product *p = context;
    const struct gemm_step *step = p->step;
    int b = p->ops->block, pair = index * step->unit_pairs;
    int pairs = MIN(step->unit_pairs, step->pairs - pair), wide = DIRECT_BLOCKS_MAX * b;
    size_t pair_floats = (size_t)(p->rows * wide);
    float *room = p->rooms + (size_t)lane * step->lane_floats;
    for (int k = 0; k < step->k; k += PIECE) {
        for (int i = 0; i < pairs; i++) {
            for (int tile = 0; tile * TILE < p->rows; tile++) {
                multiply_piece(p, tile, (pair + i) * wide, k, MIN(PIECE, step->k - k),
                               room + (size_t)i * pair_floats + (size_t)(tile * TILE * b));
            }
        }
    }
    for (int i = 0; i < pairs * DIRECT_BLOCKS_MAX; i++) {
        int at = pair * wide + i * b;
        for (int row = 0; row < p->rows && at < step->n; row++) {
            memcpy(p->out + (size_t)(p->first + row) * (size_t)step->n + at,
                   room + ((size_t)i * (size_t)p->rows + (size_t)row) * (size_t)b,
                   (size_t)MIN(b, step->n - at) * sizeof(float));
        }
    }
}

static int gemm_run(const struct call *call, struct error *err UNUSED) {
    struct cpu_device *cpu = (struct cpu_device *)call->device;
    const struct gemm_step *step = call->state;
    struct product product = {.ops = cpu->vectors,
                              .step = step,
                              .a = call->inputs[0]->data,
                              .out = call->outputs[0]->data,
                              .tiles = call->scratch};
    if (step->m == 1) {
        parallel_for(cpu->threads, step->pairs, row_unit, &product);
        return 0;
    }
    product.rooms = product.tiles + (size_t)step->tiles * step->tile_floats;
    for (; product.first < step->m; product.first += product.rows) {
        product.rows = MIN(step->m - product.first, TILES * TILE);
        parallel_for(cpu->threads, (product.rows + TILE - 1) / TILE, lay_out_tile, &product);
        parallel_for(cpu->threads, (step->pairs + step->unit_pairs - 1) / step->unit_pairs,
                     product_unit, &product);
    }
    return 0;
}
const struct kernel fast_gemm = {"fast Gemm", gemm_run};
