/* windows.h: which pixels a sliding window covers; shared by convolutions, pools and their
 * gradients. */
#pragma once

#include "agent/engine/ops/infer/window.h"

/* The outputs along dimension `dim` whose tap `k` is inside the input: [*first, *last). Output o
 * reads input pixel o * stride + k * dilation - pad_begin. */
void window_covered(const struct window *window, int dim, int64_t k, int64_t *first, int64_t *last);
/* For pools: the input pixels [first, last), in steps of the dilation, that output o reads; cells
 * is the number of those within the padded input. */
struct span {
    int64_t first, last, cells;
};
struct span window_span(const struct window *window, int dim, int64_t o);
