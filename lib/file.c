// SPDX-License-Identifier: Apache-2.0
#include "lib/file.h"

#include "lib/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int file_read_stream(int fd, const char *name, size_t bytes_max, char **ret_data, size_t *ret_size,
                     struct error *err) {
    AUTO(buffer_release) struct buffer data;
    buffer_init(&data, bytes_max);
    NOT_ZEROED char chunk[65536];
    for (;;) {
        ssize_t got = read(fd, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return error_from_errno(err, errno, "cannot read %s", name);
        }
        if (got == 0) {
            break;
        }
        if (buffer_append(&data, chunk, (size_t)got, err) < 0) {
            return error_context(err, "%s", name);
        }
    }
    *ret_data = buffer_take(&data, ret_size);
    return 0;
}

int file_read_open(int fd, const char *name, size_t bytes_max, char **ret_data, size_t *ret_size,
                   struct error *err) {
    struct stat status;
    if (fstat(fd, &status) < 0) {
        return error_from_errno(err, errno, "cannot stat %s", name);
    }
    if (!S_ISREG(status.st_mode)) {
        return error_set(err, ERROR_INVALID, "%s is not a regular file", name);
    }
    if ((uint64_t)status.st_size > bytes_max) {
        return error_set(err, ERROR_INVALID, "%s: larger than the limit of %zu bytes", name,
                         bytes_max);
    }
    return file_read_stream(fd, name, bytes_max, ret_data, ret_size, err);
}

int file_read(const char *path, size_t bytes_max, char **ret_data, size_t *ret_size,
              struct error *err) {
    AUTO(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return fd < 0 ? error_from_errno(err, errno, "cannot open %s", path)
                  : file_read_open(fd, path, bytes_max, ret_data, ret_size, err);
}

static int write_all(int fd, const char *data, size_t size) {
    while (size) {
        ssize_t wrote = write(fd, data, size);
        if (wrote < 0 && errno == EINTR) {
            continue;
        }
        if (wrote < 0) {
            return -1;
        }
        data += wrote;
        size -= (size_t)wrote;
    }
    return 0;
}

int file_write(const char *path, const void *data, size_t size, struct error *err) {
    AUTO(text_freep) char *temporary = x_printf("%s.tmp-%ld", path, (long)getpid());
    unlink(temporary); /* what a process of this number left; somebody's link is not followed */
    AUTO(fd_closep) int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        return error_from_errno(err, errno, "cannot create %s", temporary);
    }
    if (write_all(fd, data, size) < 0 || fsync(fd) < 0) {
        int saved = errno;
        unlink(temporary);
        return error_from_errno(err, saved, "cannot write %s", path);
    }
    if (rename(temporary, path) < 0) {
        int saved = errno;
        unlink(temporary);
        return error_from_errno(err, saved, "cannot rename to %s", path);
    }
    return 0;
}

bool file_is_folder(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

int file_make_folders(const char *path, struct error *err) {
    AUTO(text_freep) char *partial = x_strdup(path);
    for (char *at = partial + 1;; at++) {
        if (*at != '/' && *at != 0) {
            continue;
        }
        char ended = *at;
        *at = 0;
        struct stat status;
        if (mkdir(partial, 0777) < 0 &&
            (errno != EEXIST || stat(partial, &status) < 0 || !S_ISDIR(status.st_mode))) {
            return error_from_errno(err, errno == EEXIST ? ENOTDIR : errno,
                                    "cannot make the folder %s", partial);
        }
        *at = ended;
        if (!ended) {
            return 0;
        }
    }
}

static int remove_entry(const char *path, const struct stat *status UNUSED, int type UNUSED,
                        struct FTW *where UNUSED) {
    return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

int file_remove_tree(const char *path, struct error *err) {
    if (nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) < 0 && errno != ENOENT) {
        return error_from_errno(err, errno, "cannot remove %s", path);
    }
    return 0;
}

char *file_join(const char *folder, const char *name) {
    return x_printf("%s%s%s", folder, text_ends(folder, "/") || !*folder ? "" : "/", name);
}

const char *file_basename(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
