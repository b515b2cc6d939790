// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/onnx/put.h"

#include "agent/engine/onnx/protobuf.h"

#include <string.h>

int put_varint(struct buffer *buffer, uint64_t value, struct error *err) {
    uint8_t bytes[10];
    size_t size = 0;
    do {
        bytes[size] = (uint8_t)((value & 0x7F) | (value > 0x7F ? 0x80 : 0));
        value >>= 7;
        size++;
    } while (value);
    return buffer_append(buffer, bytes, size, err);
}

static int put_key(struct buffer *buffer, uint32_t field, enum protobuf_type type,
                   struct error *err) {
    return put_varint(buffer, (uint64_t)field << 3 | type, err);
}

int put_integer(struct buffer *buffer, uint32_t field, int64_t value, struct error *err) {
    return put_key(buffer, field, PROTOBUF_VARINT, err) < 0
               ? -1
               : put_varint(buffer, (uint64_t)value, err);
}

int put_number(struct buffer *buffer, uint32_t field, float value, struct error *err) {
    return put_key(buffer, field, PROTOBUF_FIXED32, err) < 0
               ? -1
               : buffer_append(buffer, &value, sizeof value, err);
}

int put_bytes(struct buffer *buffer, uint32_t field, const void *data, size_t size,
              struct error *err) {
    if (put_key(buffer, field, PROTOBUF_BYTES, err) < 0 || put_varint(buffer, size, err) < 0) {
        return -1;
    }
    return size ? buffer_append(buffer, data, size, err) : 0;
}

int put_text(struct buffer *buffer, uint32_t field, const char *text, struct error *err) {
    return put_bytes(buffer, field, text, strlen(text), err);
}
