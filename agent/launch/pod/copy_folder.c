// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/pod/copy_folder.h"

#include "lib/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 64, PIECE = 1 << 20 };
#define COMPLETE ".windlass-begun"

static int fail(struct error *err, const char *verb, const char *path) {
    enum error_kind kind = errno == ENOENT ? ERROR_NOT_FOUND : ERROR_FAILED;
    return error_set(err, kind, "%s: cannot %s it: %s", path, verb, strerror(errno));
}

static int copy_bytes(int from, int to, const char *path, struct error *err) {
    AUTO(text_freep) char *piece = x_malloc(PIECE);
    ssize_t got;
    while ((got = read(from, piece, PIECE)) > 0) {
        for (ssize_t done = 0, put; done < got; done += put) {
            put = write(to, piece + done, (size_t)(got - done));
            if (put < 0) {
                return fail(err, "write", path);
            }
        }
    }
    return got < 0 ? fail(err, "read", path) : 0;
}

static int copy_file(const char *from, const char *to, mode_t mode, struct error *err) {
    AUTO(fd_closep) int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (in < 0) {
        return fail(err, "read", from);
    }
    unlink(to);
    AUTO(fd_closep) int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode & 0777);
    if (out < 0) {
        return fail(err, "create", to);
    }
    if (copy_bytes(in, out, to, err) < 0) {
        return -1;
    }
    return fsync(out) < 0 ? fail(err, "write", to) : 0;
}

static int copy_link(const char *from, const char *to, struct error *err) {
    char target[PATH_MAX];
    ssize_t size = readlink(from, target, sizeof target - 1);
    if (size < 0) {
        return fail(err, "read", from);
    }
    target[size] = 0;
    unlink(to);
    return symlink(target, to) < 0 ? fail(err, "create", to) : 0;
}

static int copy_tree(const char *from, const char *to, int depth, struct error *err);

static int copy_entry(const char *from, const char *to, int depth, struct error *err) {
    struct stat info;
    if (lstat(from, &info) < 0) {
        return fail(err, "read", from);
    }
    if (S_ISDIR(info.st_mode)) {
        return file_make_folders(to, err) < 0 ? -1 : copy_tree(from, to, depth + 1, err);
    }
    if (S_ISLNK(info.st_mode)) {
        return copy_link(from, to, err);
    }
    return S_ISREG(info.st_mode) ? copy_file(from, to, info.st_mode, err) : 0;
}

/* What Windlass itself has written there is about the other trial. */
static bool is_ours(const char *name, int depth) {
    return depth == 0 && (text_starts(name, ".windlass") || text_starts(name, "result.json"));
}

static int copy_tree(const char *from, const char *to, int depth, struct error *err) {
    if (depth > DEPTH_MAX) {
        return error_set(err, ERROR_INVALID, "%s: is more than %d folders deep", from, DEPTH_MAX);
    }
    DIR *folder = opendir(from);
    if (!folder) {
        return fail(err, "read", from);
    }
    int result = 0;
    while (result == 0) {
        errno = 0;
        const struct dirent *entry = readdir(folder);
        if (!entry) {
            result = errno ? fail(err, "read", from) : 0; /* not the end: files would be missing */
            break;
        }
        const char *name = entry->d_name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !is_ours(name, depth)) {
            AUTO(text_freep) char *source = file_join(from, name);
            AUTO(text_freep) char *target = file_join(to, name);
            result = copy_entry(source, target, depth, err);
        }
    }
    closedir(folder);
    return result;
}

int copy_folder_once(const char *from, const char *to, struct error *err) {
    AUTO(text_freep) char *complete = file_join(to, COMPLETE);
    if (access(complete, F_OK) == 0) {
        return 0;
    }
    return copy_tree(from, to, 0, err) < 0 ? -1 : file_write(complete, "", 0, err);
}
