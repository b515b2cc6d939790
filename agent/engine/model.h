/* model.h: where networks come from: ONNX files, which are also written, and built-in networks.
 * Implemented in onnx/ and networks/. A file is read into memory once (engine/graph/resident.h) and
 * stays open as long as the model; constants are used where they are in these bytes, without a
 * copy. Files are not trusted: every count and size is checked against the file's size. Opsets 9 to
 * 28 are supported; a file of an older opset loads if its operators have not changed since. */
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
/* The same where others may exchange what the path leads to: nothing is opened by it, it is for
 * messages. Both descriptors are borrowed during the call. */
struct model_files {
    int fd;        /* the model, for reading */
    int folder_fd; /* its folder, where further files with weights are; -1: there are none */
};
NODISCARD int model_open_files(const char *path, const struct model_files *files,
                               struct model **ret_model, struct error *err);
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
    int opset; /* to declare in the file; all standard nodes must have it */
    /* Elements to write instead of those of the constants (such as trained weights): one pointer
     * per value of the graph, with as many elements of the same type; NULL: the constant's own.
     * `weights` NULL: all constants as they are. */
    const void *const *weights;
};

/* Appends the graph as an ONNX file to the buffer, whose limit should be WRITE_BYTES_MAX. Values
 * without a name get one; constants that no node reads are not written. ERROR_INVALID: a node has
 * another opset than those of its domain; ERROR_EXHAUSTED: the file would be larger than the
 * buffer's limit. */
NODISCARD int model_write(const struct graph *graph, const struct write_options *options,
                          struct buffer *buffer, struct error *err);

/* Whether model_write will have an error, without its weights: before a training, and not after it.
 * UNSUPPORTED, INVALID: as model_write, and for weights of 2 GiB or more. */
NODISCARD int model_check_write(const struct graph *graph, int opset, struct error *err);

/* Reads and writes a file that contains one TensorProto (.pb). The caller releases *ret_tensor. */
NODISCARD int tensor_proto_load(const char *path, struct tensor *ret_tensor, struct error *err);
NODISCARD int tensor_proto_save(const char *path, const char *name, const struct tensor *tensor,
                                struct error *err);

/* ---- built-in networks ---- */

/* Built-in networks with random weights, for training from scratch. The input is
 * "input", float32 [n, channels, height, width]; the output is "logits", [n, classes], without a
 * softmax, which is part of the loss. Weights have the names that PyTorch uses (conv1.weight,
 * layer1.0.conv2.weight, fc.bias), so that users of PyTorch can select them by patterns.
 *
 *   cnn       3x3 16, 3x3 32 (each: norm, relu, 2x2 maximum), dense 128 (norm, relu), dense
 *   mlp       dense 256, 128 (relu), dense
 *   resnet18, resnet50   He et al., "Deep Residual Learning", 2015, the stride of a bottleneck in
 *             its 3x3; inputs with a side below 64 begin with 3x3 at stride 1 and without a pool
 *
 * Weights are uniformly distributed in +-sqrt(6 / fan-in) in front of relus (He et al., "Delving
 * Deep into Rectifiers", 2015), else in +-sqrt(3 / fan-in); the same seed gives the same bits on
 * every machine. Norms begin with scale 1, shift 0, mean 0, variance 1. */
enum { NETWORKS_OPSET = 13, NETWORKS_CLASSES_MAX = 1 << 20, NETWORKS_SIDE_MAX = 4096 };

enum network_kind {
    NETWORK_CNN,
    NETWORK_MLP,
    NETWORK_RESNET18,
    NETWORK_RESNET50,
    NETWORK_KIND_COUNT
};

/* The enum network_kind of "CNN", "MLP", "ResNet18" or "ResNet50", ignoring case; -1: unknown. */
int network_kind_find(const char *name);

struct network_options {
    int64_t classes;  /* 1..NETWORKS_CLASSES_MAX */
    int64_t shape[3]; /* channels, height, width */
    uint64_t seed;    /* of the random weights */
    /* For tests; only cnn and mlp: tanh instead of relu, average instead of maximum pools, no
     * normalization. Then the network is a smooth function, so rounding differences between devices
     * do not grow during training. */
    bool is_smooth;
};

/* The caller owns *ret_graph (graph_release). ERROR_INVALID: the kind does not support these
 * options, or the input is too small for it. */
NODISCARD int network_new(enum network_kind kind, const struct network_options *options,
                          struct graph *ret_graph, struct error *err);
