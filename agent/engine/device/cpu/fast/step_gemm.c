// SPDX-License-Identifier: Apache-2.0
// Products with a constant matrix, fused with the constant row that is added to them, the batch
// normalisation and the relu or clip that follow. A product is computed as a 1x1 convolution whose
// pixels are the rows of the other matrix.
//
// With several rows, a unit of work is a block of at most BLOCK_ROWS rows and some pairs of blocks
// of columns. It processes k in pieces: a piece of the rows stays in the second-level cache for all
// columns of the unit. Rows whose distance makes them compete for the same lines of the nearest
// cache are first copied to another distance, a block at a time. Weights come from memory or a
// distant cache once per block of rows: while a pair is computed, those of the next one are
// prefetched.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/engine/device/cpu/fast/fuse.h"
#include "agent/engine/device/cpu/fast/gemm_bfloat.h"
#include "agent/engine/device/cpu/fast/parallel.h"
#include "agent/engine/device/cpu/fast/weights_cache.h"
#include "agent/engine/ops/infer/params.h"
#include "agent/engine/ops/table.h"

enum {
    BLOCK_ROWS = 168, // a multiple of the rows that vector_ops.direct computes at once
    PIECE = 384,
    RUN = 16,          // of a piece, between which some of the next weights are prefetched
    TILES_MANY = 3,    // with fewer, a portion per run would be so large that the run waits for it
    PAIRS = 4,         // of a unit, at most
    ALIASED = 512,     // floats: rows at multiples of this distance compete
    COPY_PADDING = 16, // floats that are added to it then
};

struct gemm_step {
    int m, k, n;
    float low, high;                    /* the results are clamped to these */
    const struct conv_weights *weights; /* borrowed from the cache */
    int block_rows, pieces;             /* rows of a block; pieces of k */
    int pairs, unit_pairs;              /* pairs of blocks of columns: all, and per unit */
    bool copies;                        /* the rows of a block, before it is computed */
    size_t copy_floats, lane_floats; /* in the scratch: the copy, then the last pair per thread */
    ptrdiff_t runs[PIECE / RUN];     /* of a piece, which has less than PIECE + RUN numbers */
    struct gemm_bfloat bfloat;       /* of a device that computes in bfloat16 */
};

static bool is_constant(const struct schedule *schedule, int slot) {
    return schedule->slots[slot].is_lasting && schedule->slots[slot].type == TENSOR_FLOAT32;
}

// What a product's weights are packed with, besides alpha and beta.
struct extras {
    int bias;             // slot of a row that is added; -1: none
    const void *norm;     // which normalisation follows, for the key of the weights; NULL: none
    float *scale, *shift; // of that; owned
};

// NULL: it computes in float32.
static const struct bfloat_ops *bfloat_of(const struct cpu_device *cpu, const struct step *step) {
    return node_integer(step->node, PARAM_IS_WHOLE, 0) ? cpu->whole : cpu->bfloat;
}

static const struct conv_weights *pack(struct cpu_device *cpu, const struct schedule *schedule,
                                       const struct step *step, const struct extras *extras,
                                       const struct gemm_step *gemm,
                                       const struct weights_key *key) {
    const float *bias = key->bias;
    float alpha = node_number(step->node, "alpha", 1), beta = node_number(step->node, "beta", 1);
    float *scale = x_calloc((size_t)gemm->n, sizeof *scale);
    float *shift = x_calloc((size_t)gemm->n, sizeof *shift);
    for (int i = 0; i < gemm->n; i++) {
        float factor = extras->norm ? extras->scale[i] : 1;
        scale[i] = alpha * factor;
        shift[i] = (bias ? bias[i] * beta * factor : 0) + (extras->norm ? extras->shift[i] : 0);
    }
    struct conv_shape shape = {
        .n = 1, .channels_in = gemm->k, .channels_out = gemm->n, .kernel_h = 1, .kernel_w = 1};
    struct conv_source source = {.weights = schedule->slots[step->inputs[1]].constant,
                                 .scale = alpha == 1 && !extras->norm ? NULL : scale,
                                 .shift = shift,
                                 .transposed = !node_integer(step->node, "transB", 0)};
    struct conv_weights *weights =
        conv_weights_new(cpu->vectors, &shape, CONV_DIRECT, true, &source);
    const struct bfloat_ops *bfloat = bfloat_of(cpu, step);
    if (bfloat) {
        conv_weights_round(cpu->vectors, bfloat, &shape, weights);
    }
    weights_cache_put(cpu->weights, key, weights);
    free(scale);
    free(shift);
    return weights;
}

static const struct conv_weights *
cached_weights(struct cpu_device *cpu, const struct schedule *schedule, const struct step *step,
               const struct extras *extras, const struct gemm_step *gemm) {
    const void *bias = extras->bias < 0 ? NULL : schedule->slots[extras->bias].constant;
    struct weights_key key = {.node = step->node,
                              .weights = schedule->slots[step->inputs[1]].constant,
                              .bias = bias,
                              .norm = extras->norm,
                              .algorithm = CONV_DIRECT,
                              .planar = true};
    struct conv_weights *weights = weights_cache_get(cpu->weights, &key);
    return weights ? weights : pack(cpu, schedule, step, extras, gemm, &key);
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
    if (!step_is_op(user, OP_ADD) || step->input_count > 2 ||
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

// Fuses a batch normalisation of a matrix, which is the only reader of the product.
static struct step *take_norm(struct schedule *schedule, struct step *step, int64_t n,
                              struct extras *extras) {
    struct step *user = schedule_only_user(schedule, step->outputs[0]);
    bool is_norm = step_is_op(user, OP_BATCH_NORMALIZATION) &&
                   schedule->slots[step->outputs[0]].shape.rank == 2 &&
                   fuse_batch_norm(schedule, user, (size_t)n, &extras->scale, &extras->shift);
    if (!is_norm) {
        return step;
    }
    extras->norm = schedule->slots[user->inputs[1]].constant;
    return schedule_absorb(schedule, step, user);
}

// Fuses a relu or clip that is the only reader of the product.
static struct step *take_bounds(struct schedule *schedule, struct step *step) {
    struct gemm_step *gemm = step->state;
    struct step *user = schedule_only_user(schedule, step->outputs[0]);
    bool bounds = (step_is_op(user, OP_RELU) || step_is_op(user, OP_CLIP)) &&
                  fuse_bounds(schedule, user, &gemm->low, &gemm->high);
    return bounds ? schedule_absorb(schedule, step, user) : step;
}

static void plan_bfloat(const struct cpu_device *cpu, struct step *step) {
    struct gemm_step *gemm = step->state;
    gemm->bfloat = (struct gemm_bfloat){.ops = bfloat_of(cpu, step),
                                        .weights = gemm->weights->bfloat,
                                        .bias = gemm->weights->bias,
                                        .m = gemm->m,
                                        .k = gemm->k,
                                        .n = gemm->n,
                                        .block = cpu->vectors->block,
                                        .low = gemm->low,
                                        .high = gemm->high};
    step->scratch_bytes = gemm_bfloat_plan(&gemm->bfloat, threads_count(cpu->threads));
}

static void plan_product(const struct cpu_device *cpu, struct step *step) {
    struct gemm_step *gemm = step->state;
    int b = cpu->vectors->block, threads = threads_count(cpu->threads);
    if (gemm->weights->bfloat) {
        plan_bfloat(cpu, step);
        return;
    }
    gemm->pairs = (gemm->n + DIRECT_BLOCKS_MAX * b - 1) / (DIRECT_BLOCKS_MAX * b);
    if (gemm->m == 1) {
        return; // it is read in place
    }
    int blocks = (gemm->m + BLOCK_ROWS - 1) / BLOCK_ROWS;
    gemm->block_rows = MIN(((gemm->m + blocks - 1) / blocks + 13) / 14 * 14, gemm->m);
    gemm->pieces = (gemm->k + PIECE - 1) / PIECE;
    gemm->unit_pairs = MAX(MIN(gemm->pairs / (4 * threads), PAIRS), 1);
    gemm->copies = gemm->k % ALIASED == 0;
    for (size_t i = 0; i < ARRAY_LEN(gemm->runs); i++) {
        gemm->runs[i] = (ptrdiff_t)i * RUN;
    }
    gemm->copy_floats =
        gemm->copies ? (size_t)gemm->block_rows * (size_t)(gemm->k + COPY_PADDING) : 0;
    gemm->lane_floats = (size_t)(gemm->block_rows * DIRECT_BLOCKS_MAX * b);
    step->scratch_bytes = (gemm->copy_floats + (size_t)threads * gemm->lane_floats) * sizeof(float);
}

struct step *step_gemm_try(struct cpu_device *cpu, struct schedule *schedule, struct step *step) {
    if (step->node->op->id != OP_GEMM && step->node->op->id != OP_MATMUL) {
        return NULL;
    }
    const struct schedule_slot *a = &schedule->slots[step->inputs[0]];
    const struct schedule_slot *b = &schedule->slots[step->inputs[1]];
    const struct schedule_slot *y = &schedule->slots[step->outputs[0]];
    if (a->type != TENSOR_FLOAT32 || !is_constant(schedule, step->inputs[1]) || a->shape.rank < 2 ||
        b->shape.rank != 2 || node_integer(step->node, "transA", 0)) {
        return NULL;
    }
    int64_t n = y->shape.dims[y->shape.rank - 1], k = a->shape.dims[a->shape.rank - 1];
    int64_t elements = shape_count(&y->shape);
    if (n < 1 || k < 1 || elements < 1 || n * k > INT32_MAX || elements > INT32_MAX) {
        return NULL;
    }
    int bias = step->input_count > 2 ? step->inputs[2] : -1, added;
    if (bias >= 0 && !is_row(schedule, bias, n)) {
        return NULL;
    }
    step = take_bias(schedule, step, n, &added);
    struct extras extras = {.bias = MAX(bias, added)};
    step = take_norm(schedule, step, n, &extras);
    struct gemm_step *state = x_calloc(1, sizeof *state);
    *state = (struct gemm_step){
        .m = (int)(elements / n), .k = (int)k, .n = (int)n, .low = -INFINITY, .high = INFINITY};
    state->weights = cached_weights(cpu, schedule, step, &extras, state);
    free(extras.scale);
    free(extras.shift);
    step->state = state;
    step->release = free;
    step->kernel = &fast_gemm;
    step = take_bounds(schedule, step);
    plan_product(cpu, step);
    return step;
}

struct product {
    const struct vector_ops *ops;
    const struct gemm_step *step;
    const float *a; /* rows, `a_row` apart */
    size_t a_row;
    float *out, *copy, *rooms;
    int first, rows; /* computed now */
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

static void copy_row(void *context, int index, int lane UNUSED) {
    const struct product *p = context;
    size_t k = (size_t)p->step->k;
    memcpy(p->copy + (size_t)index * (k + COPY_PADDING), p->a + (size_t)(p->first + index) * k,
           k * sizeof(float));
}

static int piece_start(const struct gemm_step *step, int piece) {
    int64_t start = (int64_t)step->k * piece / step->pieces;
    return piece == step->pieces ? step->k : (int)(start / RUN * RUN);
}

// A part of the weights: a pair of blocks of columns, and a piece of k.
struct part {
    int column, piece;
};

// Lets the job prefetch its outputs, and the weights that the next job reads.
static void fetch_next(const struct product *p, struct part next, struct direct_job *job) {
    if (job->width < TILES_MANY * p->ops->pixels || job->run_length % RUN) {
        return;
    }
    int start = piece_start(p->step, next.piece), end = piece_start(p->step, next.piece + 1);
    struct direct_job weights = job_at(p, next.column, start);
    job->run_count = job->run_length / RUN;
    job->run_length = RUN;
    job->out_far = true;
    job->ahead = weights.weights;
    job->ahead_count = (size_t)(end - start) * (size_t)(weights.blocks * p->ops->block);
}

// Where a pair of blocks of columns is written.
struct target {
    float *data;
    size_t block, pixel;
};

// Multiplies a block of rows by a part of the weights.
static void multiply_part(const struct product *p, int row, int rows, struct part part,
                          struct part next, struct target to) {
    const struct gemm_step *step = p->step;
    int k = piece_start(step, part.piece), end = piece_start(step, part.piece + 1);
    struct direct_job job = job_at(p, part.column, k);
    job.width = rows;
    job.in = p->a + (size_t)row * p->a_row + (size_t)k;
    job.pixel = p->a_row;
    job.runs = step->runs;
    job.run_count = 1;
    job.run_length = end - k;
    job.out = to.data;
    job.out_block = to.block;
    job.out_pixel = to.pixel;
    job.add = k ? to.data : NULL;
    job.low = end == step->k ? step->low : -INFINITY;
    job.high = end == step->k ? step->high : INFINITY;
    fetch_next(p, next, &job);
    p->ops->direct(&job);
}

static void product_unit(void *context, int index, int lane) {
    const struct product *p = context;
    const struct gemm_step *step = p->step;
    int units = (step->pairs + step->unit_pairs - 1) / step->unit_pairs;
    int b = p->ops->block, wide = DIRECT_BLOCKS_MAX * b;
    int pair = index % units * step->unit_pairs, row = index / units * step->block_rows;
    int rows = MIN(step->block_rows, p->rows - row);
    int pairs = MIN(step->unit_pairs, step->pairs - pair);
    float *out = p->out + (size_t)(p->first + row) * (size_t)step->n;
    float *room = p->rooms + (size_t)lane * step->lane_floats;
    // The last pair may have lanes beyond the columns.
    bool has_rest = (pair + pairs) * wide > step->n && step->n % b;
    struct part after = {(index + 1) % units * step->unit_pairs * wide, 0}; // of the next unit
    for (int i = 0; i < step->pieces * pairs; i++) {
        struct part part = {(pair + i % pairs) * wide, i / pairs};
        struct part next = {(pair + (i + 1) % pairs) * wide, (i + 1) / pairs};
        struct target to = {out + part.column, (size_t)b, (size_t)step->n};
        if (has_rest && i % pairs == pairs - 1) {
            to = (struct target){room, (size_t)(rows * b), (size_t)b};
        }
        multiply_part(p, row, rows, part, next.piece < step->pieces ? next : after, to);
    }
    for (int column = (pair + pairs - 1) * wide; has_rest && column < step->n; column += b) {
        for (int i = 0; i < rows; i++) {
            memcpy(out + (size_t)i * (size_t)step->n + column, room + (size_t)(i * b),
                   (size_t)MIN(b, step->n - column) * sizeof(float));
        }
        room += (size_t)(rows * b);
    }
}

static int gemm_run(const struct call *call, struct error *err UNUSED) {
    struct cpu_device *cpu = (struct cpu_device *)call->device;
    const struct gemm_step *step = call->state;
    struct product product = {.ops = cpu->vectors,
                              .step = step,
                              .a = call->inputs[0]->data,
                              .a_row = (size_t)step->k,
                              .out = call->outputs[0]->data,
                              .copy = call->scratch};
    if (step->bfloat.ops) {
        gemm_bfloat_run(&step->bfloat, cpu->threads, product.a, product.out, call->scratch);
        return 0;
    }
    if (step->m == 1) {
        parallel_for(cpu->threads, step->pairs, row_unit, &product);
        return 0;
    }
    product.rooms = product.copy + step->copy_floats;
    int units = (step->pairs + step->unit_pairs - 1) / step->unit_pairs;
    int at_once = step->copies ? step->block_rows : step->m;
    for (; product.first < step->m; product.first += product.rows) {
        product.rows = MIN(step->m - product.first, at_once);
        struct product now = product;
        now.a += (size_t)product.first * (size_t)step->k;
        if (step->copies) {
            parallel_for(cpu->threads, product.rows, copy_row, &product);
            now.a = product.copy;
            now.a_row = (size_t)(step->k + COPY_PADDING);
        }
        int blocks = (product.rows + step->block_rows - 1) / step->block_rows;
        parallel_for(cpu->threads, blocks * units, product_unit, &now);
    }
    return 0;
}
const struct kernel fast_gemm = {"fast Gemm", gemm_run};
