// SPDX-License-Identifier: Apache-2.0
/* The head of an array file: refused with a reason, or all its numbers are within their bounds. A
 * whole file in memory: refused with a reason, or its values are read. */
#include "agent/data/array/npy.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error err = {0};
    struct npy npy;
    char *head = x_malloc(MAX(size, (size_t)1)); /* reads past the end are found */
    memcpy(head, data, size);
    if (npy_parse(head, MIN(size, (size_t)NPY_HEAD_MAX), &npy, &err) < 0) {
        if (!err.text[0]) {
            abort();
        }
    } else if (npy.rank < 1 || npy.rank > NPY_RANK_MAX || npy.slice_bytes < 1 ||
               npy.slice_bytes > NPY_SLICES_BYTES || npy.head_bytes > (int64_t)size ||
               npy.dims[0] < 0 || npy.dims[0] > INT64_MAX / npy.slice_bytes ||
               npy_slice_values(&npy) < 1) {
        abort();
    }
    void *values = NULL;
    err = (struct error){0};
    if (npy_decode(head, size, &npy, &values, &err) < 0 && !err.text[0]) {
        abort();
    }
    free(values);
    free(head);
    return 0;
}
