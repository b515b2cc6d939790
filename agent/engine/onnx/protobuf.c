// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/onnx/protobuf.h"

#include <string.h>

enum { VARINT_BYTES_MAX = 10 };
static const uint64_t field_number_max = (1 << 29) - 1;

int protobuf_varint(struct protobuf *wire, uint64_t *ret_value, struct error *err) {
    uint64_t value = 0;
    for (int i = 0; i < VARINT_BYTES_MAX; i++) {
        if (wire->at == wire->end) {
            return error_set(err, ERROR_INVALID, "it ends in the middle of a number");
        }
        uint8_t byte = *wire->at++;
        value |= (uint64_t)(byte & 0x7F) << (7 * i);
        if (!(byte & 0x80)) {
            *ret_value = value;
            return 0;
        }
    }
    return error_set(err, ERROR_INVALID, "a number of more than %d bytes", VARINT_BYTES_MAX);
}

static int take(struct protobuf *wire, size_t size, struct protobuf *ret_part, struct error *err) {
    if (size > protobuf_size(*wire)) {
        return error_set(err, ERROR_INVALID, "a field of %zu bytes, but only %zu are left", size,
                         protobuf_size(*wire));
    }
    *ret_part = (struct protobuf){wire->at, wire->at + size};
    wire->at += size;
    return 0;
}

int protobuf_next(struct protobuf *wire, struct protobuf_field *ret_field, struct error *err) {
    if (wire->at == wire->end) {
        return 0;
    }
    uint64_t key, size;
    struct protobuf part = {0};
    struct protobuf_field field = {0};
    if (protobuf_varint(wire, &key, err) < 0) {
        return -1;
    }
    if (key >> 3 == 0 || key >> 3 > field_number_max) {
        return error_set(err, ERROR_INVALID, "a field with the number %llu",
                         (unsigned long long)(key >> 3));
    }
    field.number = (uint32_t)(key >> 3);
    field.type = (enum protobuf_type)(key & 7);
    switch (field.type) {
    case PROTOBUF_VARINT:
        if (protobuf_varint(wire, &field.integer, err) < 0) {
            return -1;
        }
        break;
    case PROTOBUF_FIXED64:
    case PROTOBUF_FIXED32:
        size = field.type == PROTOBUF_FIXED64 ? 8 : 4;
        if (take(wire, size, &part, err) < 0) {
            return -1;
        }
        /* Little-endian, like all machines that we support. */
        memcpy(&field.integer, part.at, size);
        break;
    case PROTOBUF_BYTES:
        if (protobuf_varint(wire, &size, err) < 0 || take(wire, size, &field.bytes, err) < 0) {
            return -1;
        }
        break;
    default:
        return error_set(err, ERROR_INVALID, "a field of the unknown wire type %d", (int)(key & 7));
    }
    *ret_field = field;
    return 1;
}
