/* prepare.h: sets the kernel of every step of a schedule. */
#pragma once

#include "agent/engine/device/cuda/gpu.h"

NODISCARD int prepare_all(struct gpu *gpu, struct schedule *schedule, struct error *err);
