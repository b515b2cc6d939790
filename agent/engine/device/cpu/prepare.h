/* prepare.h: the "cpu" device's choice of kernels: device_ops.prepare, see
 * agent/engine/device/kernel.h. Steps without a fast kernel get the plain one. */
#pragma once

#include "agent/engine/device/cpu/cpu.h"

NODISCARD int cpu_prepare(struct device *device, struct schedule *schedule, struct error *err);
