// SPDX-License-Identifier: Apache-2.0
#include "agent/store/file_info.h"

struct store_info file_info(const struct stat *status) {
    return (struct store_info){.size_bytes = status->st_size,
                               .modified_ns = (int64_t)status->st_mtim.tv_sec * 1000000000 +
                                              (int64_t)status->st_mtim.tv_nsec,
                               .token = "-"};
}
