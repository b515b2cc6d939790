/* shape.h: the dimensions of a tensor. Public as part of agent/engine/tensor.h. */
#pragma once

#include "lib/base.h"

enum { TENSOR_RANK_MAX = 8 };

struct shape {
    int rank;                      /* 0 = scalar */
    int64_t dims[TENSOR_RANK_MAX]; /* each >= 0; -1 = not known yet */
};

/* Number of elements; -1 if a dimension is unknown or the product exceeds 2^40. */
int64_t shape_count(const struct shape *shape);
bool shape_equal(const struct shape *a, const struct shape *b);
/* "1x3x224x224", "scalar", "?x3"; text has room for 128. */
void shape_format(const struct shape *shape, char text[static 128]);
