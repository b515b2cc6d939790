// SPDX-License-Identifier: Apache-2.0
#include "agent/train/rank_gpu.h"

#include <inttypes.h>
#include <string.h>

int rank_gpu_choose(const char *visible, int64_t local_rank, char **ret_value, struct error *err) {
    if (!visible) {
        *ret_value = x_printf("%" PRId64, local_rank);
        return 0;
    }
    const char *at = visible;
    for (int64_t i = 0; i < local_rank && at; i++) {
        at = strchr(at, ',');
        at = at ? at + 1 : NULL;
    }
    int length = at ? (int)strcspn(at, ",") : 0;
    if (length == 0) {
        return error_set(err, ERROR_INVALID,
                         "CUDA_VISIBLE_DEVICES=%.200s: rank %" PRId64
                         " of this pod has no GPU of its own; a worker has as many ranks as gpus",
                         visible, local_rank);
    }
    *ret_value = x_printf("%.*s", length, at);
    return 0;
}
