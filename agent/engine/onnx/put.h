/* put.h: appends fields in the wire format of protocol buffers to a buffer. EXHAUSTED: the buffer
 * is full. Used by agent/engine/onnx. */
#pragma once

#include "lib/buffer.h"

NODISCARD int put_varint(struct buffer *buffer, uint64_t value, struct error *err);
NODISCARD int put_integer(struct buffer *buffer, uint32_t field, int64_t value, struct error *err);
NODISCARD int put_number(struct buffer *buffer, uint32_t field, float value, struct error *err);
/* The bytes of a text or a message, or packed numbers. */
NODISCARD int put_bytes(struct buffer *buffer, uint32_t field, const void *data, size_t size,
                        struct error *err);
NODISCARD int put_text(struct buffer *buffer, uint32_t field, const char *text, struct error *err);
