// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/pod/unix_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_MAX_BYTES = 64 };

int unix_path_address(const char *path, struct sockaddr_un *ret_address, int *ret_folder,
                      struct error *err) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *slash = strrchr(path, '/');
    if (strlen(path) < sizeof address.sun_path) {
        memcpy(address.sun_path, path, strlen(path) + 1);
        *ret_address = address;
        return 0;
    }
    AUTO(text_freep) char *parent = slash ? x_strndup(path, (size_t)(slash - path)) : NULL;
    if (!parent || strlen(slash) > NAME_MAX_BYTES) {
        return error_set(err, ERROR_INVALID, "%s: the name of a socket has at most %d bytes", path,
                         NAME_MAX_BYTES - 1);
    }
    int folder = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return error_from_errno(err, errno, "%s", parent);
    }
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d%s", folder, slash);
    *ret_folder = folder;
    *ret_address = address;
    return 0;
}

int unix_path_bind(const char *path, int type, struct error *err) {
    struct sockaddr_un address;
    AUTO(fd_closep) int folder = -1;
    if (unix_path_address(path, &address, &folder, err) < 0) {
        return -1;
    }
    unlink(path);
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ||
        chmod(path, 0600) < 0) {
        int why = errno;
        fd_closep(&fd);
        return error_from_errno(err, why, "%s", path);
    }
    return fd;
}
