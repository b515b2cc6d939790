/* conv.h: convolution of two or three dimensions in the blocked layout of vector.h, fused with its
 * neighbours: padding and doubling of the input, the normalisation and relu that are pending on it,
 * bias, residual and clamp of the output, and the statistics of an instance normalisation that
 * follows.
 *
 * Planar: stored as [n, c, h, w], not blocked. Affine: a scale and a shift per sample and channel,
 * [n, 2, C]. Pending: an affine or a relu that belongs to a tensor but is not yet applied to the
 * numbers in memory; the kernel that reads the tensor applies it.
 *
 * Algorithms: direct; thin, for at most 4 output channels; Winograd F(4x4, 3x3), with 1/4 of the
 * multiplications and 4 times the weights, for activations large enough to repay the larger
 * weights; F(2x2, 3x3), with 4/9 of the multiplications and 16/9 of the weights; F(2x2, 3x3) with
 * stride 2, with 25/36 and 25/9; and one for depthwise convolutions, where each channel has a
 * separate kernel, and for those whose groups share blocks. */
#pragma once

#include "agent/engine/device/cpu/fast/conv_weights.h"
#include "agent/engine/device/cpu/threads.h"
#include "lib/error.h"

enum { WINOGRAD_BLOCKS_MAX = 1024 }; /* blocks of input channels */

/* The algorithm for this shape. */
enum conv_algorithm conv_choose(const struct vector_ops *ops, const struct conv_shape *shape,
                                bool planar, int threads);
/* Whether a planar input is read directly (few channels), not blocked first. */
bool conv_reads_planar(const struct vector_ops *ops, const struct conv_shape *shape);

/* Completes outputs as soon as they are written, while they are in the nearest cache: conv_run
 * calls it for each pixel once, on any of its threads. */
struct conv_piece {
    float *data;   /* `count` adjacent pixels ... */
    int64_t plane; /* ... of sample n and block k: n * blocks + k ... */
    int64_t first; /* ... from this pixel of them on, of all planes of a third dimension */
    int count, thread;
};
struct conv_after {
    /* context: as given to conv_run */
    void (*run)(const struct conv_after *after, const void *context,
                const struct conv_piece *piece);
    void (*release)(struct conv_after *after);
};

struct conv {
    const struct vector_ops *ops;
    struct conv_shape shape;
    const struct conv_weights *weights; /* borrowed */
    float low, high;                    /* clamp; infinities for none */
    /* An instance normalisation follows the convolution: conv_run computes its affine from the
     * output's statistics and leaves it pending on the output. */
    bool normed;
    const float *gamma, *beta; /* [out]; borrowed */
    float epsilon;
    /* For a depthwise convolution: a 1x1 convolution, planned for one thread, that computes the
     * input when it is needed; conv_run's `in` is its input, blocked and with nothing pending.
     * Borrowed; NULL: none, the input is in memory. The border is zeros. */
    const struct conv *first;
    /* Of such a first convolution: replaces `count` pixels of its result, after the clamp, by their
     * SiLU or HardSwish; NULL: none. */
    void (*activate)(float *y, size_t count);
    /* The direct algorithm in bfloat16, whose weights are conv_weights_round's; NULL: in float32.
     */
    const struct bfloat_ops *bfloat;
    const struct conv_after
        *after; /* borrowed; NULL: none. Not with `normed` or the thin algorithm */

    /* The plan: set by conv_plan, private to conv*.c, winograd.c and depthwise.c, apart from
     * scratch_bytes. Sizes are in floats unless they say otherwise.
     * Window: a thread's padded, blocked copy of the input rows that some output rows need. */
    bool in_place;                       /* no window: inputs are read where they are */
    bool flat;                           /* in_place, and each activation is treated as one row: 1x1
                                            without stride */
    const struct winograd_ops *winograd; /* NULL: another algorithm */
    bool shared; /* one transformed input for all threads, made before the outputs are divided among
                    them */
    size_t shared_floats;
    /* The work is divided as if there were `images` samples of `span` output rows: those of the
     * batch, but Winograd without statistics joins them to one, to read its weights once. */
    int images, span;
    /* Units of work, one parallel task each: the output's columns, rows and blocks are divided into
     * column_units, row_units and block_units parts, which begin at multiples of a step; columns,
     * rows and blocks are the sizes of the largest part. */
    int threads, units, columns, rows, blocks, column_units, row_units, block_units;
    int groups; /* a part of the blocks is within one of them */
    int column_step, row_step;
    int row_group;             /* output rows computed from one filling of the window */
    int window_w, window_rows; /* of the window, in pixels */
    size_t window_row;         /* distance between two of its rows */
    /* The values that an output pixel sums, as in struct direct_job (vector.h). */
    size_t pixel;              /* distance between the inputs of two neighbouring outputs */
    int run_count, run_length; /* of phase 0 */
    size_t pixel_values;       /* in all phases */
    ptrdiff_t *runs;           /* of all phases; owned */
    struct conv_phase *phases; /* conv_run.h; owned */
    bool far;                  /* the weights are larger than the cache: prefetch them */
    /* In bfloat16: the most pixels whose values are rounded at once (conv_bfloat.c), and the floats
     * of memory for them. */
    int bfloat_pixels;
    size_t bfloat_floats;
    /* Per thread: its window; a row of the input that is not blocked; all its scratch. */
    size_t window_floats, line_floats, thread_floats;
    size_t scratch_bytes;
};

/* A tensor in memory. */
struct conv_operand {
    float *data;
    bool blocked;
    bool relu;     /* pending, after the affine */
    float *affine; /* pending: [n, 2, C], C rounded up to whole blocks; NULL: none */
};

/* Divides the work and sets conv->scratch_bytes; the fields above the plan must be set. in_pending:
 * an affine or relu is pending on the input. */
void conv_plan(struct conv *conv, int threads, bool in_blocked, bool in_pending);
/* Frees what conv_plan allocated. */
void conv_release(struct conv *conv);

/* What a run reads and writes. in: as given to conv_plan (in->blocked: in_blocked). `add` (blocked,
 * nothing pending, shape of the output) may be NULL; the operands do not overlap. The output is
 * blocked, except for the thin algorithm, whose output is planar. With `normed`, out->affine is
 * filled. */
struct conv_operands {
    const struct conv_operand *in, *add, *out;
    const void *context; /* for conv->after */
};
/* threads: at most as many as conv_plan's. scratch: conv->scratch_bytes, aligned to 64 bytes; its
 * content does not matter. */
void conv_run(const struct conv *conv, struct threads *threads,
              const struct conv_operands *operands, void *scratch);

/* The number of floats of the blocked tensor [n, c, h, w], and of its affine [n, 2, C]. */
size_t conv_blocked_count(const struct vector_ops *ops, int n, int c, int h, int w);
size_t conv_affine_count(const struct vector_ops *ops, int n, int c);
