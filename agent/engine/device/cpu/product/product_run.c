// SPDX-License-Identifier: Apache-2.0
/* Runs a batch of matrix products on threads. */
#include "agent/engine/device/cpu/fast/parallel.h"
#include "agent/engine/device/cpu/product/product.h"

struct matrix product_matrix(const struct product *product, const struct product_side *side,
                             const struct tensor *tensor, int index) {
    int64_t at = side->offset;
    for (int i = product->batch_rank - 1; i >= 0; i--) {
        at += index % product->batch[i] * side->batch[i];
        index /= (int)product->batch[i];
    }
    return (struct matrix){(float *)tensor->data + at, side->row, side->column};
}

struct run {
    const struct product *product;
    const struct call *call;
    const struct vector_ops *ops;
};

struct matrix product_part(struct matrix whole, int row, int column) {
    whole.data += row * whole.row + column * whole.column;
    return whole;
}

// The rows and columns of a unit of work.
struct part {
    int row, rows, column, columns;
};

static void multiply_in_bfloat(const struct run *run, const struct part *part, struct matrix a,
                               struct factor *b, struct matrix y, int lane) {
    const struct product *p = run->product;
    float *packed = (float *)run->call->scratch + (size_t)lane * p->lane_floats;
    const struct multiply_bfloat with = {run->ops, p->bfloat};
    const struct multiply_bfloat_memory memory = {
        .tile = packed + p->packed_floats, .room = packed + p->packed_floats + p->tile_floats};
    multiply_bfloat_pack(&with, b, packed);
    for (int row = part->row; row < part->row + part->rows; row += p->block_rows) {
        int rows = MIN(p->block_rows, part->row + part->rows - row);
        const struct matrix from = product_part(a, row, 0);
        const struct matrix to = product_part(y, row, part->column);
        multiply_bfloat_rows(&with, &from, rows, b, &to, &memory);
    }
}

// The product of a piece of one pair of matrices, for a part of the result.
static void multiply(const struct run *run, const struct part *part, struct matrix a,
                     struct factor *b, struct matrix y, int lane) {
    const struct product *p = run->product;
    float *packed = (float *)run->call->scratch + (size_t)lane * p->lane_floats;
    float *tile = packed + p->packed_floats, *room = tile + p->tile_floats;
    if (p->packs) {
        multiply_pack(run->ops, b, packed);
    }
    for (int row = part->row; row < part->row + part->rows; row += p->block_rows) {
        int rows = MIN(p->block_rows, part->row + part->rows - row);
        struct matrix from = product_part(a, row, 0), to = product_part(y, row, part->column);
        if (p->packs) {
            struct lines lines = multiply_lines(run->ops, &from, rows, b->k, tile);
            multiply_rows(run->ops, &lines, rows, b, &to, room);
        } else {
            from = multiply_line_up(run->ops, &from, rows, b->k, tile);
            multiply_unpacked(run->ops, &from, rows, b, &to);
        }
    }
}

static void run_unit(void *context, int index, int lane) {
    const struct run *run = context;
    const struct product *p = run->product;
    struct part part = {.column = index % p->column_parts * p->part_columns};
    index /= p->column_parts;
    part.row = index % p->row_parts * p->part_rows;
    part.rows = MIN(p->part_rows, p->m - part.row);
    part.columns = MIN(p->part_columns, p->n - part.column);
    index /= p->row_parts;
    struct matrix a = product_matrix(p, &p->a, run->call->inputs[0], index);
    struct matrix b = product_matrix(p, &p->b, run->call->inputs[1], index);
    struct matrix y = product_matrix(p, &p->y, run->call->outputs[0], index);
    const float *row = p->row < 0 ? NULL : run->call->inputs[p->row]->data;
    for (int i = 0; i < p->sum_count; i++) {
        for (int k = 0; k < p->k; k += p->piece) {
            bool is_first = i == 0 && k == 0;
            struct factor factor = {.matrix = product_part(b, k, part.column),
                                    .k = MIN(p->piece, p->k - k),
                                    .columns = part.columns,
                                    .adds = !is_first,
                                    .row = row && is_first ? row + part.column : NULL};
            (p->bfloat ? multiply_in_bfloat : multiply)(run, &part, product_part(a, 0, k), &factor,
                                                        y, lane);
        }
        a.data += p->a.sum;
        b.data += p->b.sum;
    }
}

static int product_run(const struct call *call, struct error *err UNUSED) {
    const struct cpu_device *cpu = (const struct cpu_device *)call->device;
    const struct product *p = call->state;
    struct run run = {p, call, cpu->vectors};
    parallel_for(cpu->threads, p->batch_count * p->row_parts * p->column_parts, run_unit, &run);
    return 0;
}
const struct kernel fast_product = {"fast products", product_run};
