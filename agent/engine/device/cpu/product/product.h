/* product.h: products of two computed matrices, also many of them (MatMul with batch dimensions),
 * and their gradients, on all threads. Nodes that only move the operands' elements, and a Transpose
 * of the result, are absorbed: operands and result have strides (strided.h). product.c prepares,
 * product_run.c runs; attention.c makes one step of a product, a chain with a softmax, and a second
 * product. */
#pragma once

#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/product/multiply.h"

extern const struct kernel fast_product, fast_attention;

/* Where matrix (i, j, ...) of an operand or result is. In floats. */
struct product_side {
    int64_t offset, row, column;
    int64_t batch[TENSOR_RANK_MAX]; /* 0: repeated */
    int64_t sum;                    /* from one matrix to the next of those that are summed */
};

/* The state of a step: y = a b for each matrix of the batch, or the sum of several such products:
 * the gradient of a matrix that broadcasting repeats. */
struct product {
    int m, k, n;
    int batch_rank, batch_count; /* matrices of y */
    int sum_count;               /* products for each of them */
    int64_t batch[TENSOR_RANK_MAX];
    struct product_side a, b, y;
    const struct bfloat_ops *bfloat; /* computes in bfloat16; NULL: in float32 */
    int row;    /* index of the step's input that is added to each row of y; -1: none */
    bool packs; /* b is packed; else it is read in place */
    /* A matrix is divided into parts, each of which is a unit of work of one thread. For each piece
     * of k, a part packs its columns of b, and multiplies `block_rows` rows at a time. */
    int row_parts, column_parts, part_rows, part_columns, block_rows, piece;
    size_t packed_floats, tile_floats, lane_floats; /* of a thread's scratch */
};

/* Gives a MatMul of two computed float32 matrices, or a gradient of one, this kernel. Where the
 * addition of a row follows, or a Transpose, the step is at its place then, and `step` is empty. */
void product_try(const struct cpu_device *cpu, struct schedule *schedule, struct step *step);
/* The matrices of the batch at `index`. */
struct matrix product_matrix(const struct product *product, const struct product_side *side,
                             const struct tensor *tensor, int index);
/* From row `row` and column `column` on. */
struct matrix product_part(struct matrix whole, int row, int column);

/* Fuses products whose left operand is made by a chain with a softmax of another product. To be
 * called when chains are prepared. */
void attention_fuse(const struct cpu_device *cpu, struct schedule *schedule);
