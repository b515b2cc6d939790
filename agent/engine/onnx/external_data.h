/* external_data.h: initializers whose elements are in another file beside the model's, as PyTorch's
 * exporter (dynamo) writes them: TensorProto.external_data. Files are not trusted: a location is
 * the name of a regular file in the model's own folder, not a link, and its elements are within it.
 * Used by agent/engine/onnx. */
#pragma once

#include "agent/engine/graph/resident.h"
#include "agent/engine/onnx/protobuf.h"
#include "agent/engine/tensor.h"
#include "lib/arena.h"

enum { EXTERNAL_FILES_MAX = 64 };
/* Of all elements. They are read into memory: three quarters of the container's or machine's is a
 * limit, too. */
#define EXTERNAL_BYTES_MAX ((size_t)1 << 37)

/* One file, open as long as the model. */
struct external_file {
    char *name;                 /* in the model's folder */
    struct resident_file *file; /* owned */
    size_t used;                /* its memory is in use up to here: constants must not overlap */
};

struct external_data {
    struct resident_file *model; /* whose `next` leads to these files; borrowed */
    int folder_fd; /* the model's; borrowed while files are opened; -1: it is not in a file */
    size_t count, used_bytes, room_bytes; /* room_bytes: of all elements; 0: not asked yet */
    struct external_file files[EXTERNAL_FILES_MAX]; /* in the order of their first use */
};

void external_data_free(struct external_data *data); /* accepts NULL */

/* Whether the elements of this TensorProto are in another file. */
bool external_data_has(struct protobuf tensor);
/* An initializer that was read. */
struct external_tensor {
    struct tensor tensor;
    struct protobuf name; /* borrowed from the bytes, not NUL-terminated */
    const void *origin;   /* as in struct value */
};
/* Reads the elements into the file's memory, or into the arena where they are few, not aligned
 * there, or not behind those that were read before. INVALID: the location, or where the elements
 * are, is not valid; NOT_FOUND: no such file; UNSUPPORTED: the model is not in a file. */
NODISCARD int external_data_read(struct external_data *data, struct protobuf message,
                                 struct arena *arena, struct external_tensor *ret_read,
                                 struct error *err);
/* Reads `size` bytes of a file; for digests. UNAVAILABLE: it has become shorter. */
NODISCARD int external_data_piece(const struct external_file *file, int64_t offset, void *bytes,
                                  size_t size, struct error *err);
