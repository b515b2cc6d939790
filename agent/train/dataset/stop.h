/* stop.h: whether a training was asked to stop. Its caller answers by a function, or has none. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

static inline bool stop_is_requested(bool (*is_stopped)(void)) {
    return is_stopped && is_stopped();
}
