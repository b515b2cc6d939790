/* conv.h: two-dimensional convolution (one group or depthwise) in the blocked layout of vector.h,
 * fused with its neighbours: padding and doubling of the input, the normalisation and relu that are
 * pending on it, bias, residual and clamp of the output, and the statistics of an instance
 * normalisation that follows.
 *
 * Algorithms: direct; thin, for at most 4 output channels; Winograd F(4x4, 3x3), with 1/4 of the
 * multiplications and 4 times the weights, for pictures that are large enough to make up for these;
 * F(2x2, 3x3), with 4/9 of the multiplications and 16/9 of the weights; F(2x2, 3x3) with stride 2,
 * with 25/36 and 25/9; and one for depthwise convolutions, where each channel has a separate
 * kernel. */
#pragma once

#include "agent/engine/device/cpu/fast/vector.h"
#include "agent/engine/device/cpu/threads.h"
#include "lib/error.h"

enum { WINOGRAD_BLOCKS_MAX = 1024 }; /* blocks of input channels */

enum conv_algorithm {
    CONV_DIRECT,
    CONV_THIN,
    CONV_WINOGRAD,
    CONV_WINOGRAD_2,
    CONV_WINOGRAD_STRIDED,
    CONV_DEPTHWISE
};

struct conv_shape {
    int n, channels_in, channels_out;
    bool depthwise; /* channels_in is channels_out, weights are [out, 1, kh, kw] */
    int in_h, in_w; /* the source in memory */
    bool doubled;   /* read as if every pixel were repeated twice in both directions */
    int pad_top, pad_left, pad_bottom, pad_right;
    enum border border;
    int kernel_h, kernel_w, stride_h, stride_w;
    int dilation_h, dilation_w; /* 0 means 1 */
    int extent_h, extent_w;     /* of the dilated kernel; conv_shape_finish sets extent and out */
    int out_h, out_w;
};

/* Computes extent and out; false if the kernel or a reflection does not fit the picture. */
bool conv_shape_finish(struct conv_shape *shape);

/* Weights in the order in which an algorithm reads them. Independent of n, h and w. */
struct conv_weights {
    enum conv_algorithm algorithm;
    bool planar; /* the input is row-major with few channels */
    float *data, *bias;
    size_t count; /* floats in data */
};

/* weights [out, in, kh, kw]; bias [out] or NULL; each output channel is multiplied by scale, then
 * shift is added (a folded batch normalisation), unless they are NULL. */
struct conv_source {
    const float *weights, *bias, *scale, *shift;
    bool turned; /* weights are [in, out] (1x1, direct) */
};

struct conv_weights *conv_weights_new(const struct vector_ops *ops, const struct conv_shape *shape,
                                      enum conv_algorithm algorithm, bool planar,
                                      const struct conv_source *source);
void conv_weights_free(struct conv_weights *weights);

/* The algorithm for this shape; planar: the input is row-major. */
enum conv_algorithm conv_choose(const struct vector_ops *ops, const struct conv_shape *shape,
                                bool planar, int threads);
/* The transforms of Winograd's algorithms; NULL for other algorithms. */
const struct winograd_ops *conv_winograd(const struct vector_ops *ops,
                                         enum conv_algorithm algorithm);
/* Whether a row-major input is read directly (few channels) instead of being blocked first. */
bool conv_reads_planar(const struct vector_ops *ops, const struct conv_shape *shape);

struct conv {
    const struct vector_ops *ops;
    struct conv_shape shape;
    const struct conv_weights *weights; /* borrowed */
    float low, high;                    /* clamp; infinities for none */
    /* An instance normalisation follows the convolution: the output gets its affine. */
    bool normed;
    const float *gamma, *beta; /* [out] */
    float epsilon;
    /* For a depthwise convolution: a 1x1 convolution, planned for one thread, that computes the
     * input when it is needed; conv_run's `in` is its input, blocked and with nothing pending.
     * Borrowed; NULL: none, the input is in memory. The border is zeros. */
    const struct conv *first;

    /* The plan, set by conv_plan. */
    bool in_place;                       /* no window: inputs are read without a copy */
    bool flat;                           /* and the picture is one long row: 1x1 without stride */
    const struct winograd_ops *winograd; /* NULL: another algorithm */
    bool shared; /* one transformed input for all threads, made before the outputs are divided among
                    them */
    size_t shared_floats;
    int images, span; /* pictures; rows of each (Winograd chains several pictures' rows) */
    /* Units of work: the output's columns, rows and blocks are divided into column_units, row_units
     * and block_units parts, which begin at multiples of a step; columns, rows and blocks are the
     * sizes of the largest part. */
    int threads, units, columns, rows, blocks, column_units, row_units, block_units;
    int column_step, row_step, row_group;
    int window_w, window_rows;
    size_t pixel, window_row;
    int run_count, run_length;
    int part_runs; /* runs whose weights stay in the cache while all pixels of a unit are computed
                    */
    ptrdiff_t *runs;
    bool far; /* the weights are not in the cache when the layer begins */
    size_t window_floats, thread_floats, scratch_bytes;
};

/* A tensor in memory. */
struct conv_operand {
    float *data;
    bool blocked;
    bool relu;     /* pending: relu after the affine */
    float *affine; /* pending: [n, 2, C] scale and shift; NULL: none */
};

/* Divides the work and sets conv->scratch_bytes. in_pending: a scale, shift or relu is pending on
 * the input. */
void conv_plan(struct conv *conv, int threads, bool in_blocked, bool in_pending);
void conv_release(struct conv *conv);

/* `add` (blocked, nothing pending, shape of the output) may be NULL. The output is blocked, except
 * for the thin algorithm, whose output is row-major. With `normed`, out->affine is filled. */
void conv_run(const struct conv *conv, struct threads *threads, const struct conv_operand *in,
              const struct conv_operand *add, const struct conv_operand *out, void *scratch);

/* The number of floats of the blocked tensor [n, c, h, w], and of its affine. */
size_t conv_blocked_count(const struct vector_ops *ops, int n, int c, int h, int w);
size_t conv_affine_count(const struct vector_ops *ops, int n, int c);
