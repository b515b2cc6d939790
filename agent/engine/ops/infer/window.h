/* window.h: convolutions and pools: a window sliding over one to three spatial dimensions. The
 * arrays always have three entries; with fewer dimensions the first ones are 1 (kernel, stride,
 * dilation, sizes) and 0 (pads), so that kernels need one loop nest for all. */
#pragma once

#include "agent/engine/graph.h"

enum { WINDOW_RANK = 3 };

struct window {
    int rank; /* spatial dimensions the model has: 1 to 3, in the last entries */
    int64_t groups;
    int64_t in[WINDOW_RANK], out[WINDOW_RANK]; /* [depth, height, width] */
    int64_t kernel[WINDOW_RANK], stride[WINDOW_RANK], dilation[WINDOW_RANK];
    int64_t pad_begin[WINDOW_RANK], pad_end[WINDOW_RANK];
};

/* x [n, c, ...], w [m, c / groups, ...]; the output is [n, m, ...]. */
NODISCARD int conv_window(const struct node *node, const struct fact *const *inputs,
                          struct window *ret_window, struct error *err);
/* x [n, c, ...], w [c, m / groups, ...]: in and out are the sizes of x and of the output. */
NODISCARD int conv_transpose_window(const struct node *node, const struct fact *const *inputs,
                                    struct window *ret_window, struct error *err);
NODISCARD int pool_window(const struct node *node, const struct fact *const *inputs,
                          struct window *ret_window, struct error *err);

NODISCARD int infer_conv(const struct node *node, const struct fact *const *inputs,
                         struct fact *outputs, struct error *err);
NODISCARD int infer_conv_transpose(const struct node *node, const struct fact *const *inputs,
                                   struct fact *outputs, struct error *err);
NODISCARD int infer_pool(const struct node *node, const struct fact *const *inputs,
                         struct fact *outputs, struct error *err);
/* With the maxima's places as output 1, of MaxPoolIndices alone: others must have been expanded. */
NODISCARD int infer_max_pool(const struct node *node, const struct fact *const *inputs,
                             struct fact *outputs, struct error *err);
/* x, the maxima's places, the output's shape (optional). The places are of unpool_shape, which is
 * the output's if none is given. */
NODISCARD int unpool_shape(const struct node *node, const struct shape *x, struct shape *ret_shape,
                           struct error *err);
NODISCARD int infer_max_unpool(const struct node *node, const struct fact *const *inputs,
                               struct fact *outputs, struct error *err);
NODISCARD int infer_global_pool(const struct node *node, const struct fact *const *inputs,
                                struct fact *outputs, struct error *err);
