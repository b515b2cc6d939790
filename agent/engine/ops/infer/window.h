/* window.h: convolutions and pools: a window sliding over one to three spatial dimensions. The
 * arrays always have three entries; with fewer dimensions the first entries are 1 (kernel, stride,
 * dilation, sizes) or 0 (pads), so that kernels need only one loop nest. */
#pragma once

#include "agent/engine/graph/node.h"

enum { WINDOW_RANK = 3 };

struct window {
    int rank; /* number of spatial dimensions in the model: 1 to 3; they are the last entries */
    int64_t groups;
    int64_t in[WINDOW_RANK], out[WINDOW_RANK]; /* [depth, height, width] */
    int64_t kernel[WINDOW_RANK], stride[WINDOW_RANK], dilation[WINDOW_RANK];
    int64_t pad_begin[WINDOW_RANK], pad_end[WINDOW_RANK];
};

/* x [n, c, ...], w [m, c / groups, ...]; the output is [n, m, ...]. */
NODISCARD int window_of_conv(const struct node *node, const struct fact *const *inputs,
                             struct window *ret_window, struct error *err);
/* x [n, c, ...], w [c, m / groups, ...]: in and out are the sizes of x and of the output. */
NODISCARD int window_of_conv_transpose(const struct node *node, const struct fact *const *inputs,
                                       struct window *ret_window, struct error *err);
NODISCARD int window_of_pool(const struct node *node, const struct fact *const *inputs,
                             struct window *ret_window, struct error *err);

/* The outputs along dimension `dim` whose kernel element `k` is inside the input: [*first, *last).
 * Output o reads input pixel o * stride + k * dilation - pad_begin. */
void window_covered(const struct window *window, int dim, int64_t k, int64_t *first, int64_t *last);
/* For pools: the input pixels that output o reads: first, first + dilation, ... below last. cells:
 * the number of kernel elements that are inside the padded input. */
struct window_span {
    int64_t first, last, cells;
};
struct window_span window_find_span(const struct window *window, int dim, int64_t o);

NODISCARD int infer_conv(const struct node *node, const struct fact *const *inputs,
                         struct fact *outputs, struct error *err);
NODISCARD int infer_conv_transpose(const struct node *node, const struct fact *const *inputs,
                                   struct fact *outputs, struct error *err);
NODISCARD int infer_pool(const struct node *node, const struct fact *const *inputs,
                         struct fact *outputs, struct error *err);
/* Output 1, the indices of the maxima, is only for MaxPoolIndices: other pools with indices must
 * have been expanded. */
NODISCARD int infer_max_pool(const struct node *node, const struct fact *const *inputs,
                             struct fact *outputs, struct error *err);
/* Inputs: x, the indices of the maxima, the output's shape (optional). The indices refer to
 * window_unpool_shape, which is also the output's shape if none is given. */
NODISCARD int window_unpool_shape(const struct node *node, const struct shape *x,
                                  struct shape *ret_shape, struct error *err);
NODISCARD int infer_max_unpool(const struct node *node, const struct fact *const *inputs,
                               struct fact *outputs, struct error *err);
NODISCARD int infer_global_pool(const struct node *node, const struct fact *const *inputs,
                                struct fact *outputs, struct error *err);
