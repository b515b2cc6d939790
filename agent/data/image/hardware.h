/* hardware.h: whether this process shall decode on a GPU (video_hardware.h, jpeg_hardware.h). */
#pragma once

#include <stdbool.h>

/* A worker that has GPUs (WINDLASS_GPUS). */
bool hardware_is_wanted(void);
