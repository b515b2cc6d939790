// SPDX-License-Identifier: Apache-2.0
#include "agent/device/cpu/prepare.h"

#include "agent/device/cpu/reference.h"

int cpu_prepare(struct device *device, struct schedule *schedule, struct error *err) {
    return device_fill_kernels(device, reference_kernels, schedule, err);
}
