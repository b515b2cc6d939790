/* device.h: an NVIDIA GPU as a device. One stream; memory from the runtime's own allocator. */
#pragma once

#include "agent/device/device.h"

/* The first visible GPU. ERROR_UNAVAILABLE when there is no GPU or no driver. */
NODISCARD int gpu_open(struct device **ret_device, struct error *err);
