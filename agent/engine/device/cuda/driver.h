/* driver.h: whether there is an NVIDIA GPU, and a driver for it. */
#pragma once

#include "lib/error.h"

/* How many GPUs this process sees, at least one. ERROR_UNAVAILABLE: the driver is missing or older
 * than this program's CUDA, or it shows no GPU; the line says which, and what to do. */
NODISCARD int driver_count(int *ret_count, struct error *err);
