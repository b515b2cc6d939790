// SPDX-License-Identifier: Apache-2.0
/* A data set's file: packed or not, refused with a reason, or its head and its bytes agree. */
#include "agent/data/source/gzip.h"
#include "agent/train/dataset/idx.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error err = {0};
    struct idx idx;
    AUTO(buffer_release) struct buffer unpacked;
    buffer_init(&unpacked, 1 << 20);
    bool is_packed = gzip_is(data, size);
    struct gzip_sink sink = {&unpacked, gzip_append};
    if (is_packed && gzip_pass(data, size, &sink, &err) < 0) {
        if (!err.text[0]) {
            abort();
        }
        return 0;
    }
    size_t bytes = is_packed ? unpacked.size : size;
    char *copy = x_malloc(MAX(bytes, (size_t)1)); /* reads past the end are found */
    if (bytes) {
        memcpy(copy, is_packed ? unpacked.data : (const char *)data, bytes);
    }
    if (idx_parse(copy, bytes, &idx, &err) < 0) {
        if (!err.text[0]) {
            abort();
        }
    } else if (idx.rank < 1 || idx.rank > IDX_RANK_MAX || idx.dims[0] < 1 ||
               idx.head_bytes + (size_t)idx.dims[0] * idx.item_bytes != bytes) {
        abort();
    }
    free(copy);
    return 0;
}
