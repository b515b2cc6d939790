/* hardware.h: whether this process should decode on a GPU (video_hardware.h, jpeg_hardware.h). */
#pragma once

#include <stdbool.h>

/* True for a worker that has GPUs (WINDLASS_GPUS). */
bool hardware_is_wanted(void);
