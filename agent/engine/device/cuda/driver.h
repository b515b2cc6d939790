/* driver.h: whether there is an NVIDIA GPU, and a driver for it. */
#pragma once

#include "lib/error.h"

/* The number of GPUs that this process sees, at least one. ERROR_UNAVAILABLE: the driver is
 * missing, is older than this program's CUDA, or shows no GPU; the message says which and what to
 * do. */
NODISCARD int driver_count(int *ret_count, struct error *err);
