/* model.h: an ONNX file -> a graph. The file is read into memory (engine/graph/resident.h) and
 * stays open while the model lives; constants are used where they are in it. Anything may be in the
 * file: every count and size is bounded by the file's size, and what is wrong ends with one line.
 * Opsets 9 to 21 are promised; older ones load as far as their operators are the same. */
#pragma once

#include "agent/engine/graph.h"
#include "lib/buffer.h"

enum { MODEL_OPSET_MIN = 1, MODEL_OPSET_MAX = 21 };

struct model {
    struct graph graph;
    int opset;            /* of the standard operators; 0: a file that uses none may not say */
    int ml_version;       /* of ai.onnx.ml; 0: the file does not say */
    const char *producer; /* "" when the file does not say; one line that is safe to print */
    const char *note;     /* what the file holds and was left out (left_out.h), likewise; "" */
    int64_t parameter_count;
    struct resident_file *file; /* NULL when made from bytes of the caller */
};

/* ERROR_INVALID: not a sound model. ERROR_UNSUPPORTED: sound, but it needs what we lack; all
 * missing operators are named in one line. */
NODISCARD int model_open(const char *path, struct model **ret_model, struct error *err);
/* The bytes must outlive the model. */
NODISCARD int model_from_bytes(const void *bytes, size_t size, struct model **ret_model,
                               struct error *err);
void model_free(struct model *model);
void model_freep(struct model **model);
/* SHA-256 of the file as it was opened, in hex. ERROR_UNAVAILABLE: it cannot be read any more. */
NODISCARD int model_digest(const struct model *model, char hex[static 65], struct error *err);

#define WRITE_BYTES_MAX (((size_t)1 << 31) - 1) /* protocol buffers' own limit */

struct write_options {
    int opset; /* of all nodes */
    /* Elements in place of a constant's own, as trained weights are; one per value of the graph,
     * NULL where it keeps its own. NULL: all do. */
    const void *const *weights;
};

/* Appends to the buffer, whose max should be WRITE_BYTES_MAX. Values without a name get one.
 * Constants that nothing reads are left out. INVALID: a node of another opset; EXHAUSTED: too
 * large.
 */
NODISCARD int model_write(const struct graph *graph, const struct write_options *options,
                          struct buffer *buffer, struct error *err);

/* A file that is one TensorProto. The tensor is owned. */
NODISCARD int tensor_proto_load(const char *path, struct tensor *ret_tensor, struct error *err);
NODISCARD int tensor_proto_save(const char *path, const char *name, const struct tensor *tensor,
                                struct error *err);
