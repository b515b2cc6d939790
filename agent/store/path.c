// SPDX-License-Identifier: Apache-2.0
#include "agent/store/path.h"

#include "lib/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CHANGES_MAX = 100 }; /* maximum of changes of a folder while a path in it is resolved */

/* The parts of a spec path. */
struct location {
    const char *spec_path; /* borrowed, for messages */
    char *folder;          /* the volume's folder */
    char *rest;            /* below it, "." for the folder itself */
    int folder_fd;
};

/* What location_release may be given before location_find has filled it. */
#define NO_LOCATION ((struct location){.folder_fd = -1})

static void location_release(struct location *location) {
    free(location->folder);
    free(location->rest);
    fd_closep(&location->folder_fd);
}

static bool path_has_parent_part(const char *path) {
    for (const char *at = path; *at;) {
        size_t length = strcspn(at, "/");
        if (length == 2 && at[0] == '.' && at[1] == '.') {
            return true;
        }
        at += length + (at[length] == '/');
    }
    return false;
}

/* Finds the volume's folder, and opens nothing. */
static int location_find(struct location *location, const char *spec_path, struct error *err) {
    *location = (struct location){.spec_path = spec_path, .folder_fd = -1};
    size_t length = strcspn(spec_path, "/");
    if (length == 0 || strlen(spec_path) > PATH_BYTES_MAX) {
        return error_set(err, ERROR_INVALID, "\"%.80s\": VOLUME/path/in/it is expected", spec_path);
    }
    if (path_has_parent_part(spec_path)) {
        return error_set(err, ERROR_INVALID, "%s: a part \"..\" is not allowed", spec_path);
    }
    AUTO(text_freep) char *volume = x_strndup(spec_path, length);
    const char *folder = getenv(volume);
    if (!folder || folder[0] != '/') {
        return error_set(
            err, ERROR_NOT_FOUND,
            "%s: unknown volume \"%s\" (no environment variable of that name holds its "
            "folder)",
            spec_path, volume);
    }
    const char *rest = spec_path + length + strspn(spec_path + length, "/");
    size_t rest_length = strlen(rest);
    while (rest_length && rest[rest_length - 1] == '/') {
        rest_length--;
    }
    location->folder = x_strdup(folder);
    location->rest = rest_length ? x_strndup(rest, rest_length) : x_strdup(".");
    return 0;
}

static int location_open_folder(struct location *location, struct error *err) {
    location->folder_fd = open(location->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return location->folder_fd >= 0
               ? 0
               : error_from_errno(err, errno, "%s: volume \"%.*s\", folder %s", location->spec_path,
                                  (int)strcspn(location->spec_path, "/"), location->spec_path,
                                  location->folder);
}

static int location_init(struct location *location, const char *spec_path, struct error *err) {
    return location_find(location, spec_path, err) < 0 || location_open_folder(location, err) < 0
               ? -1
               : 0;
}

/* openat2, or -1 with errno; ENOSYS: it is not available. */
static int call_openat2(int folder_fd, const char *rest, int flags, unsigned resolve) {
    struct open_how how = {.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC), .resolve = resolve};
    for (int tries = 0;; tries++) {
        long fd = syscall(SYS_openat2, folder_fd, rest, &how, sizeof how);
        if (fd >= 0 || errno != EAGAIN || tries == 16) {
            /* Old seccomp profiles return EPERM for unknown calls. */
            errno = fd < 0 && errno == EPERM ? ENOSYS : errno;
            return (int)fd;
        }
    }
}

static int open_beneath(int folder_fd, const char *rest, int flags) {
    return call_openat2(folder_fd, rest, flags, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
}

/* For older kernels: resolves the path, checks that it is inside, and opens it. Sets errno. */
static int open_resolved(const struct location *location, const char *rest, int flags) {
    AUTO(text_freep) char *joined = file_join(location->folder, rest);
    AUTO(text_freep) char *volume = realpath(location->folder, NULL);
    AUTO(text_freep) char *real = volume ? realpath(joined, NULL) : NULL;
    if (!real) {
        return -1;
    }
    size_t length = strlen(volume);
    bool is_inside = strncmp(real, volume, length) == 0 &&
                     (real[length] == 0 || real[length] == '/' || length == 1);
    if (!is_inside) {
        errno = EXDEV;
        return -1;
    }
    return open(real, flags | O_CLOEXEC | O_NOFOLLOW);
}

static int location_open(const struct location *location, const char *rest, int flags) {
    int fd = open_beneath(location->folder_fd, rest, flags);
    return fd < 0 && errno == ENOSYS ? open_resolved(location, rest, flags) : fd;
}

/* Splits the last part off "a//b" -> "a", "b"; a single part leaves ".". */
static void split_last(char **path, char **ret_name) {
    char *slash = strrchr(*path, '/');
    *ret_name = x_strdup(slash ? slash + 1 : *path);
    while (slash && slash > *path && slash[-1] == '/') {
        slash--;
    }
    char *parent = slash ? x_strndup(*path, (size_t)(slash - *path)) : x_strdup(".");
    free(*path);
    *path = parent;
}

static int location_error(const struct location *location, int errno_value, struct error *err) {
    const char *path = location->spec_path;
    switch (errno_value) {
    case EXDEV:
        return error_set(err, ERROR_INVALID, "%s: a symbolic link in the path leaves the volume",
                         path);
    case ENOENT:
        return error_set(err, ERROR_NOT_FOUND, "%s: no such file (the volume's folder is %s)", path,
                         location->folder);
    default:
        return error_from_errno(err, errno_value, "%s", path);
    }
}

int path_open(const char *spec_path, int *ret_fd, struct error *err) {
    AUTO(location_release) struct location location = NO_LOCATION;
    if (location_init(&location, spec_path, err) < 0) {
        return -1;
    }
    int fd = location_open(&location, location.rest, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return location_error(&location, errno, err);
    }
    *ret_fd = fd;
    return 0;
}

/* The path of a descriptor, or NULL with errno. */
static char *path_of_fd(int fd) {
    char link[64], target[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, target, sizeof target);
    if (length < 0 || length == (ssize_t)sizeof target) {
        errno = length < 0 ? errno : ENAMETOOLONG;
        return NULL;
    }
    return x_strndup(target, (size_t)length);
}

/* The folder of a descriptor in the volume, opened from the volume's own; -1 with errno. */
static int open_folder_of(const struct location *location, int fd) {
    AUTO(text_freep) char *volume = path_of_fd(location->folder_fd);
    AUTO(text_freep) char *path = volume ? path_of_fd(fd) : NULL;
    AUTO(text_freep) char *name = NULL;
    if (!path) {
        return -1;
    }
    size_t length = strcmp(volume, "/") == 0 ? 0 : strlen(volume);
    if (strncmp(path, volume, length) != 0 || path[length] != '/') {
        errno = EXDEV;
        return -1;
    }
    AUTO(text_freep) char *folder = x_strdup(path + length + 1);
    split_last(&folder, &name);
    return location_open(location, folder, O_PATH | O_DIRECTORY);
}

int path_open_both(const char *spec_path, int *ret_fd, int *ret_folder_fd, struct error *err) {
    AUTO(location_release) struct location location = NO_LOCATION;
    if (location_init(&location, spec_path, err) < 0) {
        return -1;
    }
    AUTO(fd_closep)
    int fd = location_open(&location, location.rest, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    int folder_fd = fd < 0 ? -1 : open_folder_of(&location, fd);
    if (folder_fd < 0) {
        return location_error(&location, errno, err);
    }
    *ret_fd = fd;
    *ret_folder_fd = folder_fd;
    fd = -1;
    return 0;
}

int path_resolve(const char *spec_path, char **ret_path, struct error *err) {
    AUTO(location_release) struct location location = NO_LOCATION;
    if (location_init(&location, spec_path, err) < 0) {
        return -1;
    }
    /* Remove parts from the end until the rest exists. */
    AUTO(text_freep) char *there = x_strdup(location.rest);
    AUTO(text_freep) char *missing = x_strdup("");
    AUTO(fd_closep) int fd = -1;
    int changes = 0;
    while ((fd = location_open(&location, there, O_PATH)) < 0) {
        if (errno != ENOENT || strcmp(there, ".") == 0) {
            return location_error(&location, errno, err);
        }
        AUTO(text_freep) char *name = NULL;
        split_last(&there, &name);
        char *longer = *missing ? x_printf("%s/%s", name, missing) : x_strdup(name);
        free(missing);
        missing = longer;
        struct stat status;
        AUTO(fd_closep) int parent_fd = location_open(&location, there, O_PATH);
        if (parent_fd >= 0 && fstatat(parent_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
            if (S_ISLNK(status.st_mode) || ++changes == CHANGES_MAX) {
                return error_set(err, ERROR_DENIED, "%s: \"%s\" is a broken symbolic link",
                                 spec_path, name);
            }
            /* Another process has created it since the check. */
            free(there);
            there = x_strdup(location.rest);
            free(missing);
            missing = x_strdup("");
        }
    }
    AUTO(text_freep) char *path = path_of_fd(fd);
    if (!path) {
        return location_error(&location, errno, err);
    }
    *ret_path = *missing ? file_join(path, missing) : TAKE(path);
    return 0;
}

/* Whether the kernel takes the path as it is written: no parts "", "." or "..". */
static bool is_plain(const char *path) {
    for (const char *at = path; *at; at += strcspn(at, "/")) {
        at++; /* the slash */
        size_t length = strcspn(at, "/");
        if (length == 0 || (length <= 2 && strspn(at, ".") >= length)) {
            return false;
        }
    }
    return true;
}

/* A path without links is the file's own, and in the volume: one call instead of four, which counts
 * where each file is a mini-batch. -1: it may have links, or cannot be opened. */
static int open_without_links(const struct location *location, int flags, char **ret_path) {
    AUTO(text_freep) char *path = file_join(location->folder, location->rest);
    int fd = is_plain(path) ? call_openat2(AT_FDCWD, path, flags, RESOLVE_NO_SYMLINKS) : -1;
    *ret_path = fd >= 0 ? TAKE(path) : NULL;
    return fd;
}

static int open_file(struct location *location, int *ret_fd, char **ret_path, struct error *err) {
    static const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
    *ret_fd = open_without_links(location, flags, ret_path);
    if (*ret_fd >= 0) {
        return 0;
    }
    if (location_open_folder(location, err) < 0) {
        return -1;
    }
    *ret_fd = location_open(location, location->rest, flags);
    *ret_path = *ret_fd < 0 ? NULL : path_of_fd(*ret_fd);
    return *ret_path ? 0 : location_error(location, errno, err);
}

int path_file(const char *spec_path, char **ret_path, struct stat *ret_status, struct error *err) {
    AUTO(location_release) struct location location = NO_LOCATION;
    AUTO(text_freep) char *path = NULL;
    AUTO(fd_closep) int fd = -1;
    struct stat status;
    if (location_find(&location, spec_path, err) < 0 || open_file(&location, &fd, &path, err) < 0) {
        return -1;
    }
    if (fstat(fd, &status) < 0) {
        return location_error(&location, errno, err);
    }
    if (!S_ISREG(status.st_mode)) {
        return error_set(err, ERROR_INVALID, "%s: is not a regular file", spec_path);
    }
    *ret_path = TAKE(path);
    *ret_status = status;
    return 0;
}

/* Opens a folder of the volume. One that is missing is made in the one above it, which is open. -1
 * with errno. */
static int open_or_make(const struct location *location, const char *rest) {
    static const int flags = O_RDONLY | O_DIRECTORY | O_NONBLOCK;
    int fd = location_open(location, rest, flags);
    if (fd >= 0 || errno != ENOENT || strcmp(rest, ".") == 0) {
        return fd;
    }
    AUTO(text_freep) char *parent = x_strdup(rest);
    AUTO(text_freep) char *name = NULL;
    split_last(&parent, &name);
    AUTO(fd_closep) int parent_fd = open_or_make(location, parent);
    bool is_made = parent_fd >= 0 && (mkdirat(parent_fd, name, 0777) == 0 || errno == EEXIST);
    return is_made ? location_open(location, rest, flags) : -1;
}

int path_make_folder(const char *spec_path, int *ret_fd, char **ret_path, struct error *err) {
    AUTO(location_release) struct location location = NO_LOCATION;
    AUTO(text_freep) char *path = NULL;
    if (path_resolve(spec_path, &path, err) < 0 || location_init(&location, spec_path, err) < 0) {
        return -1;
    }
    AUTO(fd_closep) int fd = open_or_make(&location, location.rest);
    if (fd < 0 && errno == ENOTDIR) {
        return error_set(err, ERROR_INVALID, "%s: is not a folder", spec_path);
    }
    if (fd < 0) {
        return error_from_errno(err, errno, "%s: cannot make the folder %s", spec_path, path);
    }
    if (faccessat(fd, ".", W_OK | X_OK, 0) < 0) {
        return error_from_errno(err, errno, "%s: the folder %s cannot be written to", spec_path,
                                path);
    }
    if (ret_path) {
        *ret_path = TAKE(path);
    }
    if (ret_fd) {
        *ret_fd = fd;
        fd = -1;
    }
    return 0;
}

bool path_is_inside(const char *path, const char *folder) {
    struct stat place, at;
    if (stat(folder, &place) < 0) {
        return false;
    }
    AUTO(text_freep) char *parent = x_strdup(path);
    for (;;) {
        if (stat(*parent ? parent : "/", &at) == 0 && at.st_dev == place.st_dev &&
            at.st_ino == place.st_ino) {
            return true;
        }
        char *slash = strrchr(parent, '/');
        if (!slash) {
            return false;
        }
        *slash = 0;
    }
}
