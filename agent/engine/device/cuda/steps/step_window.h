/* step_window.h: converts a window of engine/ops to the kernels' struct. */
#pragma once

#include "agent/engine/device/cuda/kernels/kernels_window.h"
#include "agent/engine/ops/infer/window.h"

struct kernels_window step_window_of(const struct window *window, const struct shape *x,
                                     const struct shape *y);
