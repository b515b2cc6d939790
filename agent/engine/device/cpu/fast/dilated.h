/* dilated.h: dilated convolutions by Winograd's algorithm, which knows only adjacent pixels. An
 * output reads only inputs whose rows and columns have the same remainders, divided by the
 * dilation. So a dilated convolution is a plain one whose samples are the pixels of one pair of
 * remainders each: [n, dilation_h, dilation_w]. */
#pragma once

#include "agent/engine/device/cpu/fast/conv.h"

struct dilated {
    const struct vector_ops *ops;
    struct threads *threads;
    const struct conv_shape *shape, *plain;
};

/* The plain convolution, with the borders as a part of its input; false: it would not be faster. */
bool dilated_as_plain(const struct vector_ops *ops, const struct conv_shape *shape, int threads,
                      struct conv_shape *ret_plain);
/* Copies the input of the dilated convolution to that of the plain one. Both are blocked, here and
 * below. */
void dilated_split(const struct dilated *dilated, const float *in, float *out);
/* Copies the output of the plain convolution to that of the dilated one. */
void dilated_join(const struct dilated *dilated, const float *in, float *out);
