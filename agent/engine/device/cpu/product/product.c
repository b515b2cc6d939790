// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/product/product.h"

#include <stdlib.h>
#include <string.h>

#include "agent/engine/device/cpu/product/strided.h"
#include "agent/engine/ops/infer/matmul.h"
#include "agent/engine/ops/infer/move.h"
#include "agent/engine/ops/table.h"

enum {
    BLOCK_ROWS = 84,             // a multiple of the rows that vector_ops.direct computes at once
    PACKED_FLOATS_MAX = 1 << 17, // of a part, so that it stays in the second-level cache
    K_MAX = 1 << 17, // a thread holds two blocks of columns and a tile of rows, each of length k
    TILE_FLOATS_MAX = 1 << 16,
    UNITS_PER_THREAD = 4,
    UNIT_MULTIPLIES = 1 << 16, // a smaller part is not worth a unit of work
    ROWS_FEW = 6,              // for which b is not worth packing
};

/* ---- operands -------------------------------------------------------------------------------- */

// The last two dimensions are the matrix; the others are aligned with those of the batch.
static void side_of(const struct strided *from, const struct product *product,
                    struct product_side *ret_side) {
    int rank = from->shape.rank, shift = product->batch_rank - (rank - 2);
    *ret_side = (struct product_side){
        .offset = from->offset, .row = from->strides[rank - 2], .column = from->strides[rank - 1]};
    for (int i = 0; i < rank - 2; i++) {
        ret_side->batch[i + shift] = from->shape.dims[i] == 1 ? 0 : from->strides[i];
    }
}

static void read_in_place(const struct schedule *schedule, struct step *step, int input,
                          const struct product *product, struct product_side *ret_side) {
    struct strided from;
    strided_find(schedule, step->inputs[input], &from);
    side_of(&from, product, ret_side);
    step->inputs[input] = from.slot;
}

// The result, which may be written in the order of a Transpose that is its only reader.
static struct step *write_in_place(struct schedule *schedule, struct step *step,
                                   const struct shape *shape, struct product *product) {
    struct strided to = {.shape = *shape};
    int order[TENSOR_RANK_MAX];
    int rank = shape->rank;
    for (int i = rank - 1, step_size = 1; i >= 0; i--) {
        to.strides[i] = step_size;
        step_size *= (int)shape->dims[i];
    }
    struct step *user = schedule_only_user(schedule, step->outputs[0]);
    struct error err = {0};
    if (user && !user->kernel && user->node->op->id == OP_TRANSPOSE &&
        move_transpose_order(user->node, rank, order, &err) == 0) {
        int64_t stride = 1;
        for (int i = rank - 1; i >= 0; i--) {
            to.strides[order[i]] = stride;
            stride *= shape->dims[order[i]];
        }
        step = schedule_absorb(schedule, step, user);
    }
    side_of(&to, product, &product->y);
    return step;
}

/* ---- units of work --------------------------------------------------------------------------- */

static int ceil_div(int64_t a, int64_t b) {
    return (int)((a + b - 1) / b);
}

static void divide(const struct cpu_device *cpu, struct product *p) {
    int wide = DIRECT_BLOCKS_MAX * cpu->vectors->block;
    int units = UNITS_PER_THREAD * threads_count(cpu->threads);
    int64_t multiplies = (int64_t)p->m * p->k * p->n;
    int wanted = (int)MIN(MAX(multiplies / UNIT_MULTIPLIES, 1), ceil_div(units, p->batch_count));
    // Columns first: each part packs only its own.
    int pairs = ceil_div(p->n, wide);
    int fit = (int)MAX(PACKED_FLOATS_MAX / ((int64_t)p->k * wide), 1);
    int part_pairs = MIN(MAX(pairs / wanted, 1), p->packs ? fit : pairs);
    p->part_columns = part_pairs * wide;
    p->column_parts = ceil_div(p->n, p->part_columns);
    p->block_rows = MIN(BLOCK_ROWS, MAX(TILE_FLOATS_MAX / p->k / 14 * 14, 14));
    int blocks = ceil_div(p->m, p->block_rows);
    int row_parts = MIN(MAX(wanted / p->column_parts, 1), blocks);
    p->part_rows = ceil_div(blocks, row_parts) * p->block_rows;
    p->row_parts = ceil_div(p->m, p->part_rows);
}

static void plan(const struct cpu_device *cpu, struct product *p, struct step *step) {
    bool in_place = (p->b.row == 1 || p->b.column == 1) && p->y.column == 1;
    p->packs = p->m >= ROWS_FEW || !in_place;
    divide(cpu, p);
    int rows = MIN(p->block_rows, p->m);
    p->packed_floats =
        p->packs ? multiply_packed_floats(cpu->vectors, p->k, MIN(p->part_columns, p->n)) : 0;
    p->tile_floats = (multiply_tile_floats(rows, p->k) + 15) / 16 * 16;
    p->lane_floats = p->packed_floats + p->tile_floats + multiply_room_floats(cpu->vectors, rows);
    step->scratch_bytes = (size_t)threads_count(cpu->threads) * p->lane_floats * sizeof(float);
}

static bool is_computed(const struct schedule_slot *slot) {
    return slot->type == TENSOR_FLOAT32 && slot->shape.rank >= 2 && !slot->is_lasting;
}

static bool fits(const struct schedule *schedule, const struct step *step,
                 struct matmul *ret_matmul) {
    const struct schedule_slot *a = &schedule->slots[step->inputs[0]];
    const struct schedule_slot *b = &schedule->slots[step->inputs[1]];
    struct error err = {0};
    if (step->node->op->id != OP_MATMUL || !(is_computed(a) || is_computed(b)) ||
        a->type != TENSOR_FLOAT32 || b->type != TENSOR_FLOAT32 || a->shape.rank < 2 ||
        b->shape.rank < 2 || matmul_params(&a->shape, &b->shape, ret_matmul, &err) < 0) {
        return false;
    }
    int64_t values = shape_count(&ret_matmul->output), k = ret_matmul->k;
    return values > 0 && values <= INT32_MAX && k > 0 && k <= K_MAX &&
           shape_count(&a->shape) <= INT32_MAX && shape_count(&b->shape) <= INT32_MAX;
}

void product_try(const struct cpu_device *cpu, struct schedule *schedule, struct step *step) {
    struct matmul matmul;
    if (!fits(schedule, step, &matmul)) {
        return;
    }
    struct product *p = x_calloc(1, sizeof *p);
    *p = (struct product){.m = (int)matmul.m,
                          .k = (int)matmul.k,
                          .n = (int)matmul.n,
                          .batch_rank = matmul.batch.rank,
                          .batch_count = (int)shape_count(&matmul.batch)};
    memcpy(p->batch, matmul.batch.dims, sizeof p->batch);
    read_in_place(schedule, step, 0, p, &p->a);
    read_in_place(schedule, step, 1, p, &p->b);
    struct shape shape = schedule->slots[step->outputs[0]].shape;
    step = write_in_place(schedule, step, &shape, p);
    plan(cpu, p, step);
    step->state = p;
    step->release = free;
    step->kernel = &fast_product;
}
