/* gpu_device.h: NVIDIA GPUs, by CUDA, cuDNN and cuBLASLt. */
#pragma once

#include "agent/engine/device/kernel.h"

/* ordinal: the number of the GPU, from 0. precision: "float32" (NULL too), "tf32" (products of
 * float32 may be rounded to 10 bits before they are summed), or "float16", "bfloat16": activations
 * and rows between kernels that support it are of this type, channels last; all sums are float32.
 * Inputs and outputs keep their types. ERROR_INVALID: another precision; ERROR_UNAVAILABLE: no GPU,
 * driver or library. */
NODISCARD int gpu_open(int ordinal, const char *precision, struct device **ret_device,
                       struct error *err);
