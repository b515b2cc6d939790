/* protobuf.h: reads the wire format of protocol buffers in place. Nothing is copied or allocated; a
 * reader borrows the bytes. Used by agent/engine/onnx only. */
#pragma once

#include "lib/error.h"

struct protobuf {
    const uint8_t *at, *end;
};

enum protobuf_type {
    PROTOBUF_VARINT = 0,
    PROTOBUF_FIXED64 = 1,
    PROTOBUF_BYTES = 2,
    PROTOBUF_FIXED32 = 5
};

struct protobuf_field {
    uint32_t number;
    enum protobuf_type type;
    uint64_t integer;      /* VARINT, FIXED64, FIXED32 */
    struct protobuf bytes; /* BYTES: a text, packed numbers or a message */
};

/* 1: *ret_field is the next field; 0: the end; -1: malformed (ERROR_INVALID). */
NODISCARD int protobuf_next(struct protobuf *wire, struct protobuf_field *ret_field,
                            struct error *err);

/* One bare varint, for packed numbers. */
NODISCARD int protobuf_varint(struct protobuf *wire, uint64_t *ret_value, struct error *err);

static inline size_t protobuf_size(struct protobuf wire) {
    return (size_t)(wire.end - wire.at);
}
