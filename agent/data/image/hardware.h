/* hardware.h: whether this process should decode on a GPU (video_hardware.h, jpeg_hardware.h). */
#pragma once

#include <stdbool.h>

/* True if the variable WINDLASS_GPUS, which a worker with GPUs has, is a number above 0. Reads it
 * at each call. */
bool hardware_is_wanted(void);
