/* model.h: ONNX files: reads a network from one, and writes one. A file is read into memory once
 * (engine/graph/resident.h) and stays open as long as the model; constants are used where they are
 * in these bytes, without a copy. Files are not trusted: every count and size is checked against
 * the file's size. Opsets 9 to 28 are supported; a file of an older opset loads if its operators
 * have not changed since. */
#pragma once

#include "agent/engine/graph.h"
#include "lib/buffer.h"

enum { MODEL_OPSET_MIN = 1, MODEL_OPSET_MAX = 28 };

struct model {
    struct graph graph;
    int opset;      /* version of the standard operators; 0: not declared (the file uses none) */
    int ml_version; /* version of the operators of ai.onnx.ml; 0: not declared */
    const char
        *producer;    /* the program that wrote the file, as a printable line; "": not declared */
    const char *note; /* what people should know of it (onnx/left_out.h), as a printable line; "" */
    int64_t parameter_count;        /* elements of all constants */
    struct resident_file *file;     /* NULL: made by model_from_bytes */
    struct external_data *external; /* further files with weights (onnx/external_data.h) */
};

/* The caller owns *ret_model (model_free). ERROR_INVALID: not a valid ONNX file; ERROR_UNSUPPORTED:
 * valid, but the engine lacks something; the message names all missing operators. Messages are one
 * line. */
NODISCARD int model_open(const char *path, struct model **ret_model, struct error *err);
/* The same for the bytes of a file in memory, which must outlive the model. */
NODISCARD int model_from_bytes(const void *bytes, size_t size, struct model **ret_model,
                               struct error *err);
void model_free(struct model *model);
void model_freep(struct model **model);
/* The SHA-256 of the open file, and, if there are any, of the further files after it, as 64 hex
 * digits and a NUL. ERROR_UNAVAILABLE: a file cannot be read any more, or is shorter now. */
NODISCARD int model_digest(const struct model *model, char hex[static 65], struct error *err);

#define WRITE_BYTES_MAX (((size_t)1 << 31) - 1) /* the limit of protocol buffers */

struct write_options {
    int opset; /* to declare in the file; all nodes must have it */
    /* Elements to write instead of those of the constants (such as trained weights): one pointer
     * per value of the graph, with as many elements of the same type; NULL: the constant's own.
     * `weights` NULL: all constants as they are. */
    const void *const *weights;
};

/* Appends the graph as an ONNX file to the buffer, whose limit should be WRITE_BYTES_MAX. Values
 * without a name get one; constants that no node reads are not written. ERROR_INVALID: a node has
 * another opset; ERROR_EXHAUSTED: the file would be larger than the buffer's limit. */
NODISCARD int model_write(const struct graph *graph, const struct write_options *options,
                          struct buffer *buffer, struct error *err);

/* Reads and writes a file that contains one TensorProto (.pb). The caller releases *ret_tensor. */
NODISCARD int tensor_proto_load(const char *path, struct tensor *ret_tensor, struct error *err);
NODISCARD int tensor_proto_save(const char *path, const char *name, const struct tensor *tensor,
                                struct error *err);
