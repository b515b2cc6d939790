/* window.h: a window of agent/ops as the kernels take it. */
#pragma once

#include "agent/engine/device/cuda/kernels/kernels_window.h"
#include "agent/engine/ops/infer/window.h"

struct kernels_window window_of(const struct window *window, const struct shape *x,
                                const struct shape *y);
