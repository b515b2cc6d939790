// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/onnx/foreign.h"

#include <string.h>

#define PYTORCH                                                                                    \
    "export the network in Python: torch.onnx.export(model, example_input, \"model.onnx\") "       \
    "(docs/from-pytorch.md)"

enum { ZIP_NAME_LENGTH_AT = 26, ZIP_NAME_AT = 30, SAFETENSORS_SIZE_BYTES = 8 };

static bool starts(struct protobuf bytes, const char *magic, size_t size) {
    return protobuf_size(bytes) >= size && memcmp(bytes.at, magic, size) == 0;
}

/* The first member of a zip archive has that name, in whatever folder. */
static bool has_first_member(struct protobuf bytes, const char *name) {
    size_t length = strlen(name);
    if (!starts(bytes, "PK\3\4", 4) || protobuf_size(bytes) < ZIP_NAME_AT) {
        return false;
    }
    size_t given = bytes.at[ZIP_NAME_LENGTH_AT] | (size_t)bytes.at[ZIP_NAME_LENGTH_AT + 1] << 8;
    return given >= length && protobuf_size(bytes) - ZIP_NAME_AT >= given &&
           memcmp(bytes.at + ZIP_NAME_AT + given - length, name, length) == 0;
}

/* A length of 8 bytes, little-endian, then an object of JSON of that length. */
static bool is_safetensors(struct protobuf bytes) {
    if (protobuf_size(bytes) < SAFETENSORS_SIZE_BYTES + 2 ||
        bytes.at[SAFETENSORS_SIZE_BYTES] != '{') {
        return false;
    }
    uint64_t size = 0;
    for (int i = SAFETENSORS_SIZE_BYTES; i-- > 0;) {
        size = size << 8 | bytes.at[i];
    }
    return size <= protobuf_size(bytes) - SAFETENSORS_SIZE_BYTES;
}

static bool is_pickle(struct protobuf bytes) {
    return starts(bytes, "\x80", 1) && protobuf_size(bytes) >= 2 && bytes.at[1] >= 2 &&
           bytes.at[1] <= 5;
}

const char *foreign_name(struct protobuf bytes) {
    if (has_first_member(bytes, "data.pkl")) {
        return "it is a file of PyTorch (.pt, .pth), not an ONNX model: " PYTORCH;
    }
    if (is_pickle(bytes)) {
        return "it is a pickle of Python (.pkl, .joblib, an old .pt), not an ONNX model: of "
               "scikit-learn, export it with skl2onnx.to_onnx(model, X[:1]); of PyTorch, " PYTORCH;
    }
    if (is_safetensors(bytes)) {
        return "it holds weights without their network (.safetensors), not an ONNX model: export "
               "the folder that it is in with: optimum-cli export onnx --model FOLDER OUT";
    }
    if (starts(bytes, "GGUF", 4)) {
        return "it is a model of llama.cpp (.gguf), not an ONNX model: let its server run it, with "
               "scorer.endpoint (docs/operate/model-servers.md)";
    }
    if (starts(bytes, "\x89HDF\r\n\x1a\n", 8) || has_first_member(bytes, "metadata.json")) {
        return "it is a file of Keras (.h5, .keras), not an ONNX model: export it in Python with "
               "model.export(\"model.onnx\", format=\"onnx\")";
    }
    return NULL;
}
