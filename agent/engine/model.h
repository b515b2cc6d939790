/* model.h: an ONNX file -> a graph. The file is read into memory (engine/graph/resident.h) and
 * stays open while the model lives; constants are used where they are in it. The file is not
 * trusted: every count and size is bounded by the file's size, and each defect is reported in one
 * line. Opsets 9 to 21 are supported; files of older ones load if their operators are the same. */
#pragma once

#include "agent/engine/graph.h"
#include "lib/buffer.h"

enum { MODEL_OPSET_MIN = 1, MODEL_OPSET_MAX = 21 };

struct model {
    struct graph graph;
    int opset; /* of the standard operators; 0: not declared, which is valid for a file without such
                  operators */
    int ml_version;       /* of ai.onnx.ml; 0: not declared */
    const char *producer; /* "" if not declared; one line that is safe to print */
    const char *note;     /* what the file contains but the engine leaves out (left_out.h), one
                             printable line; or "" */
    int64_t parameter_count;
    struct resident_file *file; /* NULL when made from bytes of the caller */
};

/* ERROR_INVALID: not a sound model. ERROR_UNSUPPORTED: sound, but it needs something that the
 * engine does not have; one line names all missing operators. */
NODISCARD int model_open(const char *path, struct model **ret_model, struct error *err);
/* The bytes must outlive the model. */
NODISCARD int model_from_bytes(const void *bytes, size_t size, struct model **ret_model,
                               struct error *err);
void model_free(struct model *model);
void model_freep(struct model **model);
/* SHA-256, in hex, of the file as it was opened. ERROR_UNAVAILABLE: it can no longer be read. */
NODISCARD int model_digest(const struct model *model, char hex[static 65], struct error *err);

#define WRITE_BYTES_MAX (((size_t)1 << 31) - 1) /* the limit of protocol buffers */

struct write_options {
    int opset; /* of all nodes */
    /* Elements that replace those of constants (trained weights, say): one pointer per value of the
     * graph, NULL for a value that keeps its elements. NULL: all keep theirs. */
    const void *const *weights;
};

/* Appends to the buffer, whose max should be WRITE_BYTES_MAX. Values without a name get one.
 * Constants that no node reads are left out. INVALID: a node has another opset; EXHAUSTED: the
 * model is too large. */
NODISCARD int model_write(const struct graph *graph, const struct write_options *options,
                          struct buffer *buffer, struct error *err);

/* A file with one TensorProto. The tensor owns its data. */
NODISCARD int tensor_proto_load(const char *path, struct tensor *ret_tensor, struct error *err);
NODISCARD int tensor_proto_save(const char *path, const char *name, const struct tensor *tensor,
                                struct error *err);
