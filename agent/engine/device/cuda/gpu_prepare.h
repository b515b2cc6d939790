/* gpu_prepare.h: a GPU's choice of kernels: device_ops.prepare, see agent/engine/device/kernel.h.
 * Steps without a kernel for the GPU run the reference kernel on the host. */
#pragma once

#include "agent/engine/device/kernel.h"

NODISCARD int gpu_prepare(struct device *device, struct schedule *schedule, struct error *err);
