/* vector_training.h: the jobs of vector.h's inner loops for trainings. */
#pragma once

#include "agent/engine/device/cpu/vector/vector.h"

/* What follows a normalisation in the same step. */
enum activation {
    ACTIVATION_NONE,
    ACTIVATION_RELU,
    ACTIVATION_CLIP,
    ACTIVATION_SILU, /* v * sigmoid(v) */
    ACTIVATION_HARD_SWISH
};

/* A piece of a block in the gradient of a normalisation, fused with the addition and activation
 * around it: g = (dy + other) * the activation's slope. */
struct norm_job {
    size_t count;                /* pixels; the arrays below have b numbers or `count` pixels */
    const float *dy, *other, *x; /* other NULL: dy alone */
    const float *y;              /* the output of a relu; NULL: see activation */
    enum activation activation;  /* its input is x * scale + shift */
    const float *scale, *shift;
    float low, high; /* of ACTIVATION_CLIP */
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

/* One row of taps in the gradient of a depthwise convolution by its weights: sums[k] = the sum of
 * dy * x over `rows` rows of dy, x being the pixel that tap k connects with that of dy. */
struct taps_job {
    const float *dy, *x;  /* the first row of dy, and the row of x that the taps connect with it */
    float *sums;          /* [taps, b] */
    size_t dy_row, x_row; /* floats from one row to the next one that is used */
    int rows, width;      /* of dy */
    int first, last;      /* the pixels of dy for which all taps are inside x */
    int in_width, pad_left; /* of x */
    int taps, stride, dilation;
};
