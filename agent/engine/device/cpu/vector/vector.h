/* vector.h: the inner loops, compiled once per instruction set from vector.inc.
 *
 * Blocked layout: a [n, c, h, w] tensor is stored as [n, C/b, h, w, b], where b is the number of
 * float lanes of a vector register (16, 8 or 4) and C is c rounded up to a multiple of b. In lanes
 * beyond c, values are not used and weights are zero. A "pixel" is b floats.
 *
 * These functions work on one row or one small piece and do not depend on threads or graphs. */
#pragma once

#include "agent/engine/device/cpu/isa.h"

enum { VECTOR_LANES_MAX = 16, DIRECT_BLOCKS_MAX = 2, THIN_OUTPUTS_MAX = 4 };

/* A convolution of some output rows for one or two blocks of output channels. The K input values of
 * an output pixel are run_count runs of run_length floats that are adjacent; run r of pixel x
 * starts at in + runs[r] + x * pixel. So one function is used for blocked inputs (a run is kernel
 * width times block), planar inputs (a run is the kernel's width), 1x1 convolutions and the
 * products of Winograd's algorithms. */
struct direct_job {
    int width, rows, blocks;
    const float *in;
    size_t in_row; /* from the inputs of an output row to those of the next; distances in floats */
    size_t pixel;
    bool in_panel; /* instead: one run [run_length, width] of one row, width <= pixels of the ops */
    const ptrdiff_t *runs;
    int run_count, run_length;
    const float *weights; /* [run_count * run_length, blocks, b] */
    const float *bias;    /* [blocks * b] or NULL */
    float low, high;      /* the result is clamped to these */
    float *out;           /* blocked, or rows of a matrix if out_pixel is their distance */
    size_t out_row, out_block;
    size_t out_pixel;     /* 0: b */
    const float *add;     /* added before clamping, at the same offsets as out; or NULL */
    bool in_far, out_far; /* inputs, or outputs and `add`, are not in the cache: prefetch them */
    /* What the next job reads (weights from memory). It is prefetched into the second-level cache
     * in small portions while this job computes, so that neither waits for the other. */
    const float *ahead;
    size_t ahead_count;
};

/* Operations that are still pending on a value in memory: x * scale + shift, then relu. */
struct pending {
    const float *scale, *shift; /* b of each, for the present block; NULL: none */
    bool relu;
};

enum border { BORDER_ZERO, BORDER_REFLECT, BORDER_EDGE };

/* A row of one block for a convolution's window: pixels first .. first + count - 1 of the source
 * row, which is doubled if `doubled`; the border rule gives those outside. */
struct load_job {
    float *out;
    const float *in; /* the source row; NULL: a row of zeros */
    int in_width;    /* pixels in the source row */
    int first, count;
    bool doubled;
    enum border border;
    struct pending pending;
};

struct thin_job;     /* vector_window.h */
struct pool_row_job; /* vector_window.h */
struct resample_job;
struct norm_job;   /* vector_training.h */
struct spread_job; /* vector_training.h */
struct taps_job;   /* vector_training.h */

/* The rows of the next panel, of `rest` that are left; most: vector_ops.pixels. None has only a few
 * of many, which would be slower. */
static inline int vector_panel_rows(int rest, int most) {
    return rest <= most ? rest : rest >= 2 * most ? most : (rest + 1) / 2;
}

struct vector_ops {
    enum isa isa;
    int block;  /* b */
    int pixels; /* of two blocks, which `direct` computes at once */
    void (*direct)(const struct direct_job *job);
    void (*thin)(const struct thin_job *job);
    /* One block of a depthwise convolution: a run is run_length whole pixels, the weights are
     * [run_count * run_length, b]. */
    void (*depthwise)(const struct direct_job *job);
    /* The same of groups of `reads` lanes, which read each other: weights [..., reads, b]. */
    void (*grouped)(const struct direct_job *job, int reads);
    void (*load)(const struct load_job *job);

    /* out = clamp(pending_a(a) + pending_b(b), low, high), b may be NULL; count pixels. */
    void (*combine)(float *out, const float *a, const struct pending *pending_a, const float *b,
                    const struct pending *pending_b, float low, float high, size_t count);
    /* Converts blocked pixels to `lanes` planes and applies what is pending. */
    void (*to_planar)(float *out, size_t plane, int lanes, const float *in,
                      const struct pending *pending, size_t count);
    void (*from_planar)(float *out, const float *in, size_t plane, int lanes, size_t count);
    /* Sums of x - pivot and of its square over count pixels, per lane; a pivot near the mean. */
    void (*moments)(const float *in, size_t count, const float *pivot, float *sum, float *squares);
    void (*max_row)(const struct pool_row_job *job);
    void (*average_row)(const struct pool_row_job *job);
    /* out = the sum over k < taps of weights[k] rows[k], count pixels. */
    void (*blend)(float *out, const float *const *rows, const float *weights, int taps,
                  size_t count);
    void (*resample)(const struct resample_job *job);

    /* vector_moves.inc. out[c * out_row + r] = in[r * in_row + c] */
    void (*transpose)(float *out, size_t out_row, const float *in, size_t in_row, int rows,
                      int columns);
    /* Turns k rows of `rows` numbers, in_row apart, into panels [k, vector_panel_rows] one after
     * another, without a gap. */
    void (*panels)(float *out, const float *in, size_t in_row, int rows, int k);
    /* A row times a matrix: sums over i < count of a[i] b[j * b_row + i], or of
     * a[i] b[i * b_row + j], for each of the columns j. */
    void (*dots)(float *out, const float *a, int count, const float *b, size_t b_row, int columns);
    void (*weighted)(float *out, const float *a, int count, const float *b, size_t b_row,
                     int columns);

    /* vector_training.inc */
    void (*norm_sums)(const struct norm_job *job);
    void (*norm_slopes)(const struct norm_job *job);
    void (*spread_row)(const struct spread_job *job);
    void (*taps)(const struct taps_job *job);
    /* y = y * sigmoid(y), or y * clip(y / 6 + 1/2, 0, 1); count pixels. */
    void (*silu)(float *y, size_t count);
    void (*hard_swish)(float *y, size_t count);
    /* Sums over `count` pixels, per lane, of in, or of in * factor if that is not NULL. */
    void (*lane_sums)(const float *in, const float *factor, size_t count, float *sum);
    /* sum[i] += the numbers i of `rows` rows that are in_row floats apart, for each column i. */
    void (*add_rows)(float *sum, const float *in, size_t in_row, int rows, int columns);

    /* `rounds` rounds of multiply-adds in registers, each of `sums` times b; returns a result that
     * depends on all of them. Measures the processor's peak. */
    int sums;
    float (*multiply_adds)(int64_t rounds);

    /* Winograd F(4x4, 3x3), F(2x2, 3x3), and the latter with stride 2. Input: transforms `tiles`
     * windows of side^2 pixels, tile * stride apart, to side^2 matrices out + k * plane [tiles, b].
     * Output: transforms these to `tile` rows of pixels; only the given rows and columns are
     * written. */
    struct winograd_ops {
        int tile, stride, side;
        void (*input)(float *out, size_t plane, const float *in, size_t in_row, int tiles);
        void (*output)(const struct direct_job *job, const float *in, size_t plane);
    } winograd[3]; /* in the order of enum conv_algorithm, from CONV_WINOGRAD on */
};

const struct vector_ops *vector_ops_get(enum isa isa);

extern const struct vector_ops vector_ops_plain, vector_ops_avx2, vector_ops_avx512;
