/* tensor_proto.h: reads (in place) and writes ONNX TensorProto messages: initializers, attributes,
 * and the .pb files of tests (engine/model.h). */
#pragma once

#include "agent/engine/model.h"
#include "agent/engine/onnx/protobuf.h"
#include "lib/arena.h"
#include "lib/buffer.h"

enum { TENSOR_PROTO_TEXT = 8 }; /* ONNX's type number of strings, which the engine does not have */

/* ONNX's number of an element type -> the engine's type. ERROR_UNSUPPORTED names a type that the
 * engine does not have. */
NODISCARD int tensor_proto_type(uint64_t onnx_type, enum tensor_type *ret_type, struct error *err);

/* The tensor borrows aligned raw_data from the message's bytes; other data is copied into `arena`.
 * *ret_name is borrowed from the bytes, not NUL-terminated. ret_raw (may be NULL): the address of
 * the tensor's elements in the message, at any alignment; NULL: the message does not have them in
 * this form. */
NODISCARD int tensor_proto_read(struct protobuf message, struct arena *arena,
                                struct tensor *ret_tensor, struct protobuf *ret_name,
                                const void **ret_raw, struct error *err);

/* Only type, shape and name, of a message whose elements are elsewhere (external_data.h). */
NODISCARD int tensor_proto_head(struct protobuf message, struct tensor *ret_tensor,
                                struct protobuf *ret_name, struct error *err);

/* Appends the bytes of a message. */
NODISCARD int tensor_proto_put(struct buffer *buffer, const char *name, const struct tensor *tensor,
                               struct error *err);
