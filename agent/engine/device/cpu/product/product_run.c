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

static void run_unit(void *context, int index, int lane) {
    const struct run *run = context;
    const struct product *p = run->product;
    int column = index % p->column_parts * p->part_columns;
    index /= p->column_parts;
    int first = index % p->row_parts * p->part_rows, last = MIN(first + p->part_rows, p->m);
    index /= p->row_parts;
    int columns = MIN(p->part_columns, p->n - column);
    struct matrix a = product_matrix(p, &p->a, run->call->inputs[0], index);
    struct matrix whole = product_matrix(p, &p->b, run->call->inputs[1], index);
    struct matrix y = product_matrix(p, &p->y, run->call->outputs[0], index);
    float *packed = (float *)run->call->scratch + (size_t)lane * p->lane_floats;
    float *tile = packed + p->packed_floats, *room = tile + p->tile_floats;
    struct factor b = {product_part(whole, 0, column), p->k, columns, NULL};
    if (p->packs) {
        multiply_pack(run->ops, &b, packed);
    }
    for (int row = first; row < last; row += p->block_rows) {
        int rows = MIN(p->block_rows, last - row);
        struct matrix from = product_part(a, row, 0), to = product_part(y, row, column);
        from = multiply_line_up(run->ops, &from, rows, p->k, tile);
        if (p->packs) {
            multiply_rows(run->ops, &from, rows, &b, &to, room);
        } else {
            multiply_unpacked(run->ops, &from, rows, &b, &to);
        }
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
