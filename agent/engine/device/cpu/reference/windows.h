/* windows.h: which pixels a sliding window meets: shared by convolutions, pools and their
 * gradients. */
#pragma once

#include "agent/engine/ops/infer/window.h"

/* The outputs along dimension `dim` whose tap `k` is inside the input: [*first, *last). Output o
 * meets the input's pixel o * stride + k * dilation - pad_begin. */
void window_covered(const struct window *window, int dim, int64_t k, int64_t *first, int64_t *last);
/* Pools. The input pixels [first, last), by steps of the dilation, under output o; cells counts
 * those that are within the padded input. */
struct span {
    int64_t first, last, cells;
};
struct span window_span(const struct window *window, int dim, int64_t o);
