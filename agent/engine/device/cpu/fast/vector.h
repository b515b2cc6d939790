/* vector.h: the inner loops, compiled once per instruction set from vector.inc.
 *
 * Blocked layout: a [n, c, h, w] tensor is as [n, C/b, h, w, b], where b is the number of float
 * lanes of a vector register (16, 8 or 4) and C is c rounded up to a multiple of b; the lanes that
 * are too many hold values that are not used, and weights that are zero. A "pixel" is b floats.
 *
 * These functions work on one row or one small piece and know nothing of threads or graphs. */
#pragma once

#include "agent/engine/device/cpu/isa.h"

enum { VECTOR_LANES_MAX = 16, DIRECT_BLOCKS_MAX = 2, THIN_OUTPUTS_MAX = 4 };

/* A convolution of some output rows for one or two blocks of output channels. The K input values
 * of an output pixel are run_count runs of run_length floats that are adjacent; run r of pixel x
 * starts at in + runs[r] + x * pixel. So one function serves blocked inputs (a run is kernel width
 * times block), planar ones (a run is the kernel's width), 1x1 and Winograd's products. */
struct direct_job {
    int width, rows, blocks;
    const float *in;
    size_t in_row; /* distance of two output rows' inputs, in floats as all distances here */
    size_t pixel;
    const ptrdiff_t *runs;
    int run_count, run_length;
    const float *weights; /* [run_count * run_length, blocks, b] */
    const float *bias;    /* [blocks * b] or NULL */
    float low, high;      /* the result is clamped to these */
    float *out;           /* blocked */
    size_t out_row, out_block;
    const float *add;     /* added before clamping, where out is relative to its base; or NULL */
    bool in_far, out_far; /* inputs, or outputs and `add`, are not in the cache: fetch ahead */
    /* What is read behind this job (weights from memory): brought into the second-level cache bit
     * by bit while this job computes, so that memory never waits and is never waited for. */
    const float *ahead;
    size_t ahead_count;
};

/* The same for at most THIN_OUTPUTS_MAX output channels: lanes run over input channels instead.
 * The input is blocked; a run is run_length whole pixels. The output is planar. */
struct thin_job {
    int width, outputs;
    const float *in;
    const ptrdiff_t *runs;
    int run_count, run_length;
    size_t pixel;
    const float *weights; /* [run_count * run_length, outputs, b] */
    const float *bias;    /* [outputs] or NULL */
    float low, high;
    float *out;
    size_t out_plane;
};

/* What is still to be done to a value that is in memory: x * scale + shift, then relu. */
struct pending {
    const float *scale, *shift; /* b of each, for the block at hand; NULL: nothing */
    bool relu;
};

enum border { BORDER_ZERO, BORDER_REFLECT, BORDER_EDGE };

/* A row of one block for a convolution's window: pixels first .. first + count - 1 of the source
 * row, doubled when `doubled`; those outside are made by the border rule. */
struct load_job {
    float *out;
    const float *in; /* the source row; NULL: a row of zeros */
    int in_width;    /* pixels in the source row */
    int first, count;
    bool doubled;
    enum border border;
    struct pending pending;
};

/* A piece of a block on its way back through a normalisation, and through the addition and the relu
 * that stand around it: g = dy + other where the relu let its input pass, 0 elsewhere. */
struct norm_job {
    size_t count;                /* pixels; all that follows is b numbers, or `count` pixels */
    const float *dy, *other, *x; /* other NULL: dy alone */
    const float *y;              /* the relu's output; NULL: see scale */
    const float *scale, *shift;  /* the relu's input is x * scale + shift; NULL: it was none */
    const float *mean;
    float *kept;          /* g is written there; NULL: it is not */
    float *sum, *product; /* of norm_sums: g, g * (x - mean), over the piece */
    float *dx;            /* of norm_slopes: g * factor + (x - mean) * slope + base */
    const float *factor, *slope, *base;
};

/* A row of a maximum pool on its way back: each dy goes to the first greatest x of its window. */
struct spread_job {
    const float *x, *dy; /* x, dx: the first of the window's rows that are in the picture */
    float *dx;           /* is added to */
    size_t in_row;       /* floats */
    int rows, in_width, kernel_w, stride, pad_left, count; /* count: pixels of dy */
};

struct vector_ops {
    enum isa isa;
    int block; /* b */
    void (*direct)(const struct direct_job *job);
    void (*thin)(const struct thin_job *job);
    /* One block where every channel has a kernel of its own: a run is run_length whole pixels, the
     * weights are [run_count * run_length, b]. */
    void (*depthwise)(const struct direct_job *job);
    void (*load)(const struct load_job *job);

    /* out = clamp(pending_a(a) + pending_b(b), low, high), b may be NULL; count pixels. */
    void (*combine)(float *out, const float *a, const struct pending *pending_a, const float *b,
                    const struct pending *pending_b, float low, float high, size_t count);
    /* Blocked pixels to `lanes` planes, with what is pending. */
    void (*to_planar)(float *out, size_t plane, int lanes, const float *in,
                      const struct pending *pending, size_t count);
    void (*from_planar)(float *out, const float *in, size_t plane, int lanes, size_t count);
    /* sum and squares of (x - pivot) over count pixels, per lane; the pivot keeps digits. */
    void (*moments)(const float *in, size_t count, const float *pivot, float *sum, float *squares);
    /* out[x] = max over a kh x kw window of pixels; in points at the window of pixel 0. */
    void (*max_row)(float *out, const float *in, size_t in_row, int kh, int kw, int stride,
                    int count);

    /* vector_training.inc */
    void (*norm_sums)(const struct norm_job *job);
    void (*norm_slopes)(const struct norm_job *job);
    void (*spread_row)(const struct spread_job *job);

    /* Of `count` numbers, to about 1e-6 of each result; NaN stays NaN. */
    void (*tanh)(float *out, const float *in, size_t count);
    void (*sigmoid)(float *out, const float *in, size_t count);

    /* So many rounds of multiply-adds of registers, and what they come to; `sums` times b
     * multiply-adds a round. To find out what the processor can do. */
    int sums;
    float (*multiply_adds)(int64_t rounds);

    /* Winograd F(4x4, 3x3), F(2x2, 3x3), and the latter of stride 2. Input: `tiles` windows of
     * side^2 pixels, tile * stride apart, to side^2 matrices out + k * plane [tiles, b]. Output:
     * these back to `tile` rows of pixels; only the given rows and columns are written. */
    struct winograd_ops {
        int tile, stride, side;
        void (*input)(float *out, size_t plane, const float *in, size_t in_row, int tiles);
        void (*output)(const struct direct_job *job, const float *in, size_t plane);
    } winograd[3]; /* as enum conv_algorithm has them from CONV_WINOGRAD on */
};

const struct vector_ops *vector_ops_get(enum isa isa);

extern const struct vector_ops vector_ops_plain, vector_ops_avx2, vector_ops_avx512;
