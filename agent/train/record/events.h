/* events.h: TensorBoard's event file: TFRecord frames (length, its masked CRC-32C, data, its masked
 * CRC-32C) of Event messages (tensorflow/core/util/event.proto: wall_time 1, step 2, file_version
 * 3, summary 5: values with tag 1 and simple_value 2). Pure. */
#pragma once

#include "lib/buffer.h"

/* The first record of a file. */
NODISCARD int events_begin(struct buffer *buffer, int64_t wall_ms, struct error *err);

struct events_value {
    const char *tag; /* at most 256 bytes */
    float value;
};
enum { EVENTS_VALUES_MAX = 32 };
/* One record with 1 to EVENTS_VALUES_MAX values of a step. */
NODISCARD int events_add(struct buffer *buffer, int64_t wall_ms, int64_t step,
                         const struct events_value *values, size_t count, struct error *err);
