// SPDX-License-Identifier: Apache-2.0
#include "agent/serve/presence.h"

#include "lib/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

int presence_hold(const char *folder, const char *name, int *ret_fd, struct error *err) {
    AUTO(text_freep) char *path = file_join(folder, name);
    AUTO(text_freep) char *made = x_printf("%s/.%s.%d", folder, name, (int)getpid());
    unlink(made); /* of another container, whose processes have the same numbers */
    AUTO(fd_closep) int fd = open(made, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || rename(made, path) < 0) {
        return error_from_errno(err, errno, "%s", path);
    }
    *ret_fd = fd;
    fd = -1;
    return 0;
}

enum presence presence_of(const char *folder, const char *name) {
    AUTO(text_freep) char *path = file_join(folder, name);
    AUTO(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return errno == ENOENT ? PRESENCE_NOT_YET : PRESENCE_THERE;
    }
    return flock(fd, LOCK_SH | LOCK_NB) == 0 ? PRESENCE_GONE : PRESENCE_THERE;
}
