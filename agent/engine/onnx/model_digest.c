// SPDX-License-Identifier: Apache-2.0
/* In a file of its own, so that programs without OpenSSL can be linked with the engine
 * (tests/cuda/cuda.mk). */
#include "agent/engine/model.h"

#include "agent/engine/graph/resident.h"
#include "agent/engine/onnx/external_data.h"
#include "lib/digest.h"

#include <string.h>

enum { DIGEST_PIECE_BYTES = 1 << 20 };

static int add_external(struct digest *digest, const struct external_file *file, char *piece,
                        struct error *err) {
    digest_add(digest, file->name, strlen(file->name) + 1);
    for (size_t at = 0, size; at < file->file->size; at += size) {
        size = MIN(file->file->size - at, (size_t)DIGEST_PIECE_BYTES);
        if (external_data_piece(file, (int64_t)at, piece, size, err) < 0) {
            return -1;
        }
        digest_add(digest, piece, size);
    }
    return resident_file_check(file->file, err) < 0 ? error_context(err, "%s", file->name) : 0;
}

/* Reads the file. Parts of which the graph has copies do not stay in memory a second time. One that
 * is written over while it is loaded would have the digest of other weights than those in memory.
 */
int model_digest(const struct model *model, char hex[static 65], struct error *err) {
    const struct resident_file *file = model->file;
    AUTO(text_freep) char *piece = x_malloc(DIGEST_PIECE_BYTES);
    AUTO(digest_freep) struct digest *digest = digest_new();
    uint64_t sum = 0;
    for (size_t at = 0, size; at < file->size; at += size) {
        size = MIN(file->size - at, (size_t)DIGEST_PIECE_BYTES);
        if (resident_file_read(file, at, piece, size, err) < 0) {
            return -1;
        }
        digest_add(digest, piece, size);
        sum = resident_sum(sum, piece, size);
    }
    if (sum != file->sum) {
        return error_set(err, ERROR_UNAVAILABLE, "%s: was changed while it was loaded", file->path);
    }
    for (size_t i = 0; i < model->external->count; i++) {
        if (add_external(digest, &model->external->files[i], piece, err) < 0) {
            return -1;
        }
    }
    digest_end(TAKE(digest), hex);
    return 0;
}
