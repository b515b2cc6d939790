/* shape.h: the dimensions of a tensor. Public as part of agent/engine/tensor.h. */
#pragma once

#include "lib/base.h"

enum { TENSOR_RANK_MAX = 8 }; /* more dimensions are not supported */

struct shape {
    int rank;                      /* number of dimensions; 0: a scalar */
    int64_t dims[TENSOR_RANK_MAX]; /* each >= 0; -1: unknown */
};

/* The number of elements; -1: a dimension is unknown, or there are more than 2^40. */
int64_t shape_count(const struct shape *shape);
bool shape_equal(const struct shape *a, const struct shape *b);
/* Formats for messages: "1x3x224x224", "scalar", "?x3" (? is unknown). */
void shape_format(const struct shape *shape, char text[static 128]);
