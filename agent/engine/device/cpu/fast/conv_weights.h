/* conv_weights.h: the weights of a convolution, packed for its algorithm (conv.h describes them).
 */
#pragma once

#include "agent/engine/device/cpu/fast/conv_shape.h"
#include "agent/engine/device/cpu/vector/vector_bfloat.h"

enum conv_algorithm {
    CONV_DIRECT,
    CONV_THIN,
    CONV_WINOGRAD,
    CONV_WINOGRAD_2,
    CONV_WINOGRAD_STRIDED,
    CONV_DEPTHWISE
};

/* The transforms of Winograd's algorithms; NULL for other algorithms. */
const struct winograd_ops *conv_winograd(const struct vector_ops *ops,
                                         enum conv_algorithm algorithm);

/* Weights in the order in which an algorithm reads them. Independent of n, h and
 * w, but for a transposed convolution (weights_cache.h). */
struct conv_weights {
    enum conv_algorithm algorithm;
    bool planar; /* the input is planar; see conv_reads_planar */
    float *data, *bias;
    size_t count;     /* floats in data */
    uint16_t *bfloat; /* instead of data: in bfloat16 (conv_weights_round); else NULL */
};

/* weights [out, in, kh, kw]; bias [out] or NULL; each output channel is multiplied by scale, then
 * shift is added (a folded batch normalisation), unless they are NULL. */
struct conv_source {
    const float *weights, *bias, *scale, *shift;
    bool transposed; /* weights are [in, out, kh, kw] (direct) */
};

/* Copies and reorders the source's numbers; never NULL. `planar` must be what conv_reads_planar
 * says for this shape when the input is planar in memory, else false; so in conv_choose. */
struct conv_weights *conv_weights_new(const struct vector_ops *ops, const struct conv_shape *shape,
                                      enum conv_algorithm algorithm, bool planar,
                                      const struct conv_source *source);
/* Of the direct algorithm: packs the weights as operands in bfloat16 (vector_bfloat.h), and frees
 * the others: [group][block pair][phase][step][block of the pair][16][16][2]. A block of channels
 * is a block of columns. */
void conv_weights_round(const struct vector_ops *ops, const struct bfloat_ops *bfloat,
                        const struct conv_shape *shape, struct conv_weights *weights);
void conv_weights_free(struct conv_weights *weights);
