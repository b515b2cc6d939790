// SPDX-License-Identifier: Apache-2.0
#include "agent/store/path_folder.h"

#include "agent/store/file_info.h"
#include "agent/store/path.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

int path_folder_sync(int fd, const char *spec_path, struct error *err) {
    /* EINVAL: this file system cannot sync a folder (SMB). */
    return fsync(fd) == 0 || errno == EINVAL ? 0 : error_from_errno(err, errno, "%s", spec_path);
}

int path_folder_open_fd(const char *spec_path, int *ret_fd, struct error *err) {
    AUTO(fd_closep) int fd = -1;
    struct stat status;
    if (path_open(spec_path, &fd, err) < 0) {
        return -1;
    }
    if (fstat(fd, &status) < 0 || !S_ISDIR(status.st_mode)) {
        return error_set(err, ERROR_INVALID, "%s: is a file, a folder is expected", spec_path);
    }
    *ret_fd = fd;
    fd = -1;
    return 0;
}

void path_folder_info(const struct store *base, const struct stat *status,
                      struct store_info *ret_info) {
    bool has_inodes = ((const struct path_folder *)base)->has_inodes;
    *ret_info = file_info(status);
    ret_info->changed_ns =
        ((const struct path_folder *)base)->has_changes
            ? (int64_t)status->st_ctim.tv_sec * 1000000000 + (int64_t)status->st_ctim.tv_nsec
            : 0;
    snprintf(ret_info->token, sizeof ret_info->token, "%llx-%llx.%lx-%llx",
             (unsigned long long)status->st_size, (unsigned long long)status->st_mtim.tv_sec,
             (unsigned long)status->st_mtim.tv_nsec,
             has_inodes ? (unsigned long long)status->st_ino : 0ULL);
}
