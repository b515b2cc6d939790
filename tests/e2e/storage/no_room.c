// SPDX-License-Identifier: Apache-2.0
/* LD_PRELOAD: each call that fails because a disk is full (ENOSPC) adds its name to the file
 * $NO_ROOM_SEEN. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static void note(const char *name) {
    const char *path = getenv("NO_ROOM_SEEN");
    int fd =
        path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT, 0666) : -1;
    if (fd >= 0) {
        char line[64];
        int size = snprintf(line, sizeof line, "%s\n", name);
        syscall(SYS_write, fd, line, size);
        syscall(SYS_close, fd);
    }
}

/* result NAME(parameters): calls the next one of that name. */
#define WATCH(result, name, parameters, arguments)                                                 \
    result name parameters {                                                                       \
        static result(*next) parameters;                                                           \
        if (!next) {                                                                               \
            void *found = dlsym(RTLD_NEXT, #name);                                                 \
            memcpy(&next, &found, sizeof next);                                                    \
        }                                                                                          \
        result got = next arguments;                                                               \
        if (got < 0 && errno == ENOSPC) {                                                          \
            note(#name);                                                                           \
            errno = ENOSPC;                                                                        \
        }                                                                                          \
        return got;                                                                                \
    }

#define WATCH_OPEN(name, parameters, ...)                                                          \
    int name parameters {                                                                          \
        va_list list;                                                                              \
        va_start(list, flags);                                                                     \
        mode_t mode =                                                                              \
            flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(list, mode_t) : 0;        \
        va_end(list);                                                                              \
        int got = (int)syscall(SYS_openat, __VA_ARGS__, flags, mode);                              \
        if (got < 0 && errno == ENOSPC) {                                                          \
            note(#name);                                                                           \
            errno = ENOSPC;                                                                        \
        }                                                                                          \
        return got;                                                                                \
    }

WATCH_OPEN(open, (const char *path, int flags, ...), AT_FDCWD, path)
WATCH_OPEN(open64, (const char *path, int flags, ...), AT_FDCWD, path)
WATCH_OPEN(openat, (int folder, const char *path, int flags, ...), folder, path)
WATCH_OPEN(openat64, (int folder, const char *path, int flags, ...), folder, path)
WATCH(int, mkdir, (const char *path, mode_t mode), (path, mode))
WATCH(int, mkdirat, (int folder, const char *path, mode_t mode), (folder, path, mode))
WATCH(int, link, (const char *from, const char *to), (from, to))
WATCH(int, linkat, (int a, const char *from, int b, const char *to, int flags),
      (a, from, b, to, flags))
WATCH(int, symlink, (const char *from, const char *to), (from, to))
WATCH(int, rename, (const char *from, const char *to), (from, to))
WATCH(int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to))
WATCH(int, renameat2, (int a, const char *from, int b, const char *to, unsigned flags),
      (a, from, b, to, flags))
WATCH(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
WATCH(ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count))
WATCH(ssize_t, pwrite, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at))
WATCH(ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at))
WATCH(int, ftruncate, (int fd, off_t size), (fd, size))
WATCH(int, fsync, (int fd), (fd))
WATCH(int, fdatasync, (int fd), (fd))
