/* tensor_proto.h: ONNX TensorProto messages, read in place and written: initializers and
 * attributes. The .pb files of tests are such messages, too (engine/model.h). */
#pragma once

#include "agent/engine/graph/arena.h"
#include "agent/engine/model.h"
#include "agent/engine/onnx/protobuf.h"
#include "lib/buffer.h"

enum { TENSOR_PROTO_TEXT = 8 }; /* ONNX's number of strings, which are none of our types */

/* ONNX's number of an element type -> ours. ERROR_UNSUPPORTED (with its name) if we have none. */
NODISCARD int tensor_proto_type(uint64_t onnx_type, enum tensor_type *ret_type, struct error *err);

/* The tensor borrows aligned raw_data from the message's bytes; other data is copied into `arena`.
 * *ret_name is borrowed from the bytes, not NUL-terminated. ret_raw (may be NULL): where the
 * tensor's very bytes are among them, at any address; NULL: nowhere. */
NODISCARD int tensor_proto_read(struct wire message, struct arena *arena, struct tensor *ret_tensor,
                                struct wire *ret_name, const void **ret_raw, struct error *err);

/* Appends the message's bytes. */
NODISCARD int tensor_proto_put(struct buffer *buffer, const char *name, const struct tensor *tensor,
                               struct error *err);
