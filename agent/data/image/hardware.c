// SPDX-License-Identifier: Apache-2.0
#include "agent/data/image/hardware.h"

#include <stdlib.h>

bool hardware_is_wanted(void) {
    const char *gpus = getenv("WINDLASS_GPUS");
    return gpus && strtol(gpus, NULL, 10) > 0;
}
