/* protobuf.h: reads the wire format of protocol buffers in place. Nothing is copied or allocated; a
 * reader borrows the bytes. Used by agent/engine/onnx only. */
#pragma once

#include "lib/error.h"

struct wire {
    const uint8_t *at, *end;
};

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct wire_field {
    uint32_t number;
    enum wire_type type;
    uint64_t integer;  /* VARINT, FIXED64, FIXED32 */
    struct wire bytes; /* BYTES: a text, packed numbers or a message */
};

/* 1: *ret_field is the next field; 0: the end; -1: malformed (ERROR_INVALID). */
NODISCARD int wire_next(struct wire *wire, struct wire_field *ret_field, struct error *err);

/* One bare varint, for packed numbers. */
NODISCARD int wire_varint(struct wire *wire, uint64_t *ret_value, struct error *err);

static inline size_t wire_size(struct wire wire) {
    return (size_t)(wire.end - wire.at);
}
