/* rows.h: walks over several tensors at once, each with separate strides: shared by broadcasting,
 * transposing, slicing and copying. */
#pragma once

#include "agent/engine/tensor.h"

enum { ROWS_OPERANDS_MAX = 4 };

struct rows {
    struct shape shape; /* of the walk; a scalar is one row of one element */
    int operand_count;
    int64_t strides[ROWS_OPERANDS_MAX][TENSOR_RANK_MAX]; /* elements */
    int64_t start[ROWS_OPERANDS_MAX];                    /* elements */
};

/* One row along the last dimension: operand k begins at element offsets[k] and advances by
 * steps[k]. */
typedef void rows_row(void *context, const int64_t *offsets, const int64_t *steps, int64_t count);

void rows_each(const struct rows *rows, rows_row *row, void *context);

/* Row-major strides of a whole tensor. */
void rows_plain_strides(const struct shape *shape, int64_t ret_strides[TENSOR_RANK_MAX]);

/* Copies elements of `size` bytes: operand 0 is read from `from`, operand 1 is written to `to`. */
void rows_copy(const struct rows *rows, size_t size, const void *from, void *to);
