// SPDX-License-Identifier: Apache-2.0
/* A checkpoint's bytes, with correct sums, so that the parser reads on: it is refused with a
 * reason, or all tensors are within the bytes. */
#include "agent/train/checkpoint.h"
#include "lib/digest.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FIXED = 16 };

static void fit_sums(char *bytes, size_t size) {
    uint32_t json_size;
    if (size < FIXED + CHECKPOINT_TAIL_BYTES) {
        return;
    }
    memcpy(&json_size, bytes + 8, sizeof json_size);
    if (json_size <= size - FIXED - CHECKPOINT_TAIL_BYTES) {
        uint32_t crc = digest_crc32c(0, bytes + FIXED, json_size);
        memcpy(bytes + 12, &crc, sizeof crc);
    }
    size_t rest = size - CHECKPOINT_TAIL_BYTES;
    checkpoint_tail(digest_crc32c(0, bytes, rest), (int64_t)rest, bytes + rest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error err = {0};
    struct checkpoint_loaded loaded = {0};
    char *bytes = x_malloc(MAX(size, (size_t)1)); /* reads past the end are found */
    memcpy(bytes, data, size);
    if (size && data[size - 1] != 0) {
        fit_sums(bytes, size);
    }
    if (checkpoint_parse(bytes, size, &loaded, &err) < 0) {
        if (!err.text[0]) {
            abort();
        }
        free(bytes);
        return 0;
    }
    for (size_t i = 0; i < loaded.checkpoint.count; i++) {
        const struct checkpoint_tensor *tensor = &loaded.tensors[i];
        const char *from = (const char *)tensor->data;
        size_t count = (size_t)shape_count(&tensor->shape) * sizeof(float);
        if (from < bytes || count > size - (size_t)(from - bytes) || !tensor->name) {
            abort();
        }
    }
    checkpoint_release(&loaded);
    return 0;
}
