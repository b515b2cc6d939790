// SPDX-License-Identifier: Apache-2.0
#include "agent/store/local_file.h"

#include "agent/store/file_info.h"
#include "agent/store/path.h"
#include "agent/store/published/published.h"
#include "agent/store/stored_file.h"
#include "lib/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Smaller objects are read in one request. Larger pieces are read as several ranges at once. */
enum {
    SMALL_BYTES = 8 << 20,
    PIECE_BYTES = 32 << 20,
    NAME_BYTES_MAX = 3000, /* a path has 4,095 bytes, with the folder's */
};

int local_file_make_folder(char **ret_path, struct error *err) {
    const char *parent = getenv("TMPDIR");
    AUTO(text_freep) char *path = file_join(parent && *parent ? parent : "/tmp", "windlass-XXXXXX");
    if (!mkdtemp(path)) {
        return error_from_errno(err, errno, "cannot make a folder in $TMPDIR (%s)", path);
    }
    *ret_path = TAKE(path);
    return 0;
}

static int write_all(int fd, const char *path, const char *data, size_t size, struct error *err) {
    while (size) {
        ssize_t put = write(fd, data, size);
        if (put < 0 && errno != EINTR) {
            return error_from_errno(err, errno, "cannot write %s", path);
        }
        data += put > 0 ? put : 0;
        size -= put > 0 ? (size_t)put : 0;
    }
    return 0;
}

/* Copies piece by piece; a token ensures that all are of the same object. */
static int copy_large(struct store *store, const char *name, int fd, const char *path,
                      struct store_info *ret_info, struct error *err) {
    AUTO(text_freep) char *piece = x_malloc(PIECE_BYTES);
    if (store_stat(store, name, ret_info, err) < 0) {
        return -1;
    }
    for (int64_t at = 0; at < ret_info->size_bytes;) {
        size_t size = 0;
        if (store_read(store, name, &(struct store_piece){at, piece, PIECE_BYTES, ret_info->token},
                       &size, err) < 0 ||
            write_all(fd, path, piece, size, err) < 0) {
            return -1;
        }
        if (size == 0) {
            return error_set(err, ERROR_UNAVAILABLE, "%s/%s: ends too early", store_path(store),
                             name);
        }
        at += (int64_t)size;
    }
    return 0;
}

static int copy_object(struct store *store, const char *name, int fd, const char *path,
                       struct error *err) {
    AUTO(text_freep) char *small = x_malloc(SMALL_BYTES);
    struct store_info info;
    size_t size = 0;
    if (store_read(store, name, &(struct store_piece){0, small, SMALL_BYTES, NULL}, &size, err) <
        0) {
        return -1;
    }
    return size < SMALL_BYTES ? write_all(fd, path, small, size, err)
                              : copy_large(store, name, fd, path, &info, err);
}

/* An object's name may be longer than that of a file. */
static int check_name(const char *name, struct error *err) {
    for (const char *at = name; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (strcspn(at, "/") > NAME_MAX || strlen(name) > NAME_BYTES_MAX) {
            return error_set(err, ERROR_INVALID,
                             "no file here can have its name, which has a part of more than %d "
                             "bytes or more than %d in all: rename it",
                             NAME_MAX, NAME_BYTES_MAX);
        }
    }
    return 0;
}

/* Makes an empty file of that name in a separate folder. */
static int make_file(const char *name, struct local_file *file, int *ret_fd, struct error *err) {
    if (check_name(name, err) < 0 || local_file_make_folder(&file->folder, err) < 0) {
        return -1;
    }
    file->path = file_join(file->folder, name);
    AUTO(text_freep)
    char *parent = x_strndup(file->path, (size_t)(strrchr(file->path, '/') - file->path));
    if (file_make_folders(parent, err) < 0) {
        return -1;
    }
    *ret_fd = open(file->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return *ret_fd < 0 ? error_from_errno(err, errno, "cannot make %s", file->path) : 0;
}

/* info: NULL: one request is enough for a small object. */
static int fetch(struct store *store, const char *name, struct local_file *file,
                 struct store_info *info, struct error *err) {
    AUTO(fd_closep) int fd = -1;
    if (make_file(name, file, &fd, err) < 0) {
        return -1;
    }
    return info ? copy_large(store, name, fd, file->path, info, err)
                : copy_object(store, name, fd, file->path, err);
}

int local_file_write(const char *name, const void *data, size_t size, struct local_file *ret_file,
                     struct error *err) {
    AUTO(fd_closep) int fd = -1;
    struct local_file file = {0};
    if (make_file(name, &file, &fd, err) < 0 || write_all(fd, file.path, data, size, err) < 0) {
        local_file_release(&file);
        return -1;
    }
    *ret_file = file;
    return 0;
}

static int make(struct store *store, const char *name, struct local_file *ret_file,
                struct store_info *info, struct error *err) {
    struct local_file file = {0};
    AUTO(text_freep) char *spec_path = file_join(store_path(store), name);
    struct store_abilities can = store_features(store);
    struct stat status;
    if (can.is_local) {
        if (path_file(spec_path, &file.path, &status, err) < 0) {
            return -1;
        }
        file.is_disk = can.is_disk;
        file.spec_path = TAKE(spec_path);
        info ? (void)(*info = file_info(&status)) : (void)0;
    } else if (fetch(store, name, &file, info, err) < 0) {
        local_file_release(&file);
        return text_starts(err->text, spec_path) ? -1 : error_context(err, "%.200s", spec_path);
    }
    *ret_file = file;
    return 0;
}

int local_file_make(struct store *store, const char *name, struct local_file *ret_file,
                    struct error *err) {
    return make(store, name, ret_file, NULL, err);
}

int local_file_make_info(struct store *store, const char *name, struct local_file *ret_file,
                         struct store_info *ret_info, struct error *err) {
    return make(store, name, ret_file, ret_info, err);
}

static int fetch_published(const char *spec_path, struct local_file *ret_file, struct error *err) {
    struct local_file file = {0};
    AUTO(text_freep) char *name = published_name(spec_path);
    AUTO(fd_closep) int fd = -1;
    if (make_file(name, &file, &fd, err) < 0 || published_fetch(spec_path, fd, err) < 0) {
        local_file_release(&file);
        return -1;
    }
    *ret_file = file;
    return 0;
}

int local_file_open(const char *spec_path, struct local_file *ret_file, struct error *err) {
    AUTO(stored_file_release) struct stored_file file = {0};
    if (published_is(spec_path)) {
        return fetch_published(spec_path, ret_file, err);
    }
    if (store_is_local(spec_path)) {
        struct local_file local = {0};
        AUTO(text_freep) char *meant = NULL;
        if (stored_file_path(spec_path, &meant, err) < 0 ||
            path_resolve(meant, &local.path, err) < 0) {
            return -1;
        }
        local.spec_path = TAKE(meant);
        *ret_file = local;
        return 0;
    }
    return stored_file_open(spec_path, &file, err) < 0
               ? -1
               : local_file_make(file.store, file.name, ret_file, err);
}

int local_file_descriptors(const struct local_file *file, int *ret_fd, int *ret_folder_fd,
                           struct error *err) {
    if (file->spec_path) {
        return path_open_both(file->spec_path, ret_fd, ret_folder_fd, err);
    }
    int folder_fd = open(file->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = open(file->path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || folder_fd < 0) {
        int result = error_from_errno(err, errno, "cannot open %s", file->path);
        fd_closep(&fd);
        fd_closep(&folder_fd);
        return result;
    }
    *ret_fd = fd;
    *ret_folder_fd = folder_fd;
    return 0;
}

int local_file_read(const struct local_file *file, size_t bytes_max, char **ret_data,
                    size_t *ret_size, struct store_info *ret_info, struct error *err) {
    const char *name = file->spec_path ? file->spec_path : file->path;
    AUTO(fd_closep) int fd = -1;
    struct stat status;
    if (file->spec_path) {
        if (path_open(file->spec_path, &fd, err) < 0) {
            return -1;
        }
    } else {
        fd = open(file->path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    }
    if (fd < 0 || fstat(fd, &status) < 0) {
        return error_from_errno(err, errno, "cannot open %s", name);
    }
    ret_info ? (void)(*ret_info = file_info(&status)) : (void)0;
    return file_read_open(fd, name, bytes_max, ret_data, ret_size, err);
}

void local_file_release(struct local_file *file) {
    struct error ignored = {0};
    if (file->folder) {
        (void)!file_remove_tree(file->folder, &ignored);
    }
    free(file->folder);
    free(file->path);
    free(file->spec_path);
    *file = (struct local_file){0};
}
