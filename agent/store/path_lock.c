// SPDX-License-Identifier: Apache-2.0
#include "agent/store/path_lock.h"

#include "agent/store/path.h"
#include "lib/time/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum {
    LOCK_WAIT_MS = 2000, /* waits for a run that is just ending */
    LOCK_STEP_MS = 20,
    HOLDER_BYTES_MAX = 256,
};

static bool is_held_by(int fd, const char *holder) {
    char text[HOLDER_BYTES_MAX + 1];
    ssize_t got = pread(fd, text, HOLDER_BYTES_MAX, 0);
    return got >= 0 && (size_t)got == strlen(holder) && memcmp(text, holder, (size_t)got) == 0;
}

static int sign(int fd, const char *holder) {
    size_t size = MIN(strlen(holder), (size_t)HOLDER_BYTES_MAX);
    return ftruncate(fd, 0) == 0 && pwrite(fd, holder, size, 0) == (ssize_t)size ? 0 : -1;
}

int path_lock(const char *folder, const char *holder, int *ret_fd, struct error *err) {
    AUTO(fd_closep) int folder_fd = -1;
    if (path_make_folder(folder, &folder_fd, NULL, err) < 0) {
        return -1;
    }
    AUTO(fd_closep)
    int fd = openat(folder_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) {
        return error_from_errno(err, errno, "%s/lock", folder);
    }
    for (int64_t end_ms = clock_monotonic_ms() + LOCK_WAIT_MS;; poll(NULL, 0, LOCK_STEP_MS)) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            /* A process that cannot write its name here cannot write commits either, and fails
             * later. */
            (void)sign(fd, holder);
            *ret_fd = fd;
            fd = -1;
            return 0;
        }
        if (errno != EWOULDBLOCK && errno != EINTR) {
            *ret_fd = -1;
            return 0;
        }
        if (clock_monotonic_ms() >= end_ms) {
            break;
        }
    }
    if (!is_held_by(fd, holder)) {
        return error_set(err, ERROR_BUSY, "%s/lock is held by another process", folder);
    }
    *ret_fd = -1;
    return 0;
}
