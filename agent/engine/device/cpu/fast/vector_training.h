/* vector_training.h: the jobs of vector.h's inner loops for trainings. */
#pragma once

#include "agent/engine/device/cpu/fast/vector.h"

/* A piece of a block in the gradient of a normalisation, fused with the addition and relu around
 * it: g = dy + other where the relu's input was positive, else 0. */
struct norm_job {
    size_t count;                /* pixels; the arrays below have b numbers or `count` pixels */
    const float *dy, *other, *x; /* other NULL: dy alone */
    const float *y;              /* the relu's output; NULL: see scale */
    const float *scale, *shift;  /* the relu's input: x * scale + shift. NULL and y NULL: no relu */
    const float *mean;
    float *kept;          /* receives g; NULL: g is not stored */
    float *sum, *product; /* from norm_sums: sums of g and g * (x - mean) over the piece */
    float *dx;            /* from norm_slopes: g * factor + (x - mean) * slope + base */
    const float *factor, *slope, *base;
};

/* A row of the gradient of a maximum pool: each dy is added at the first greatest x of its
 * window. */
struct spread_job {
    const float *x, *dy; /* x, dx: the first row of the window that is in the activation */
    float *dx;           /* dy is added to it */
    size_t in_row;       /* floats */
    int rows, in_width, kernel_w, stride, pad_left, count; /* count: pixels of dy */
};
