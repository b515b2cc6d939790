// SPDX-License-Identifier: Apache-2.0
/* The `work` object of a lease, as it comes over the network, for frames of a video. */
#include "agent/data/video/video_lease.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error err = {0};
    struct video_lease lease;
    AUTO(tree_freep) json_t *work = NULL;
    if (tree_parse((const char *)data, size, 1 << 20, &work, &err) == 0 &&
        video_lease_decode(&lease, work, &err) == 0) {
        video_lease_release(&lease);
    }
    return 0;
}
