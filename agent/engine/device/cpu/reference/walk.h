/* walk.h: walks over several tensors at once, each with separate strides: shared by broadcasting,
 * transposing, slicing and copying. */
#pragma once

#include "agent/engine/device/kernel.h"

enum { WALK_OPERANDS_MAX = 4 };

struct walk {
    struct shape shape; /* of the walk; a scalar is one row of one element */
    int operand_count;
    int64_t strides[WALK_OPERANDS_MAX][TENSOR_RANK_MAX]; /* elements */
    int64_t start[WALK_OPERANDS_MAX];                    /* elements */
};

/* One row along the last dimension: operand k begins at element offsets[k] and advances by
 * steps[k]. */
typedef void walk_row(void *context, const int64_t *offsets, const int64_t *steps, int64_t count);

void walk_each(const struct walk *walk, walk_row *row, void *context);

/* Row-major strides of a whole tensor. */
void walk_plain_strides(const struct shape *shape, int64_t ret_strides[TENSOR_RANK_MAX]);

/* Advances an index to the next element, in row-major order; after the last one to the first. */
void walk_next(const struct shape *shape, int64_t index[TENSOR_RANK_MAX]);

/* Copies elements of `size` bytes: operand 0 is read from `from`, operand 1 is written to `to`. */
void walk_copy(const struct walk *walk, size_t size, const void *from, void *to);
/* to[i * to_step] = from[i * from_step], in elements of `size` bytes: 1, 2, 4 or 8. */
void walk_copy_row(const char *from, int64_t from_step, char *to, int64_t to_step, int64_t count,
                   size_t size);

/* copy.c: how a Slice, Transpose, Expand, DepthToSpace or SpaceToDepth copies. */
NODISCARD int walk_of_copy(const struct call *call, struct walk *ret_walk, struct error *err);
