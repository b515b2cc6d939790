// SPDX-License-Identifier: Apache-2.0
/* Objects are files: written under a temporary name in the same folder, synced, and linked (CREATE)
 * or renamed (REPLACE) to the final name. Every lookup uses path_open, which does not follow links
 * that leave the volume; every change is relative to a folder that was opened so. A killed writer
 * leaves its temporary, a hidden file. */
#include "agent/store/path_folder.h"
#include "lib/digest.h"
#include "lib/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { PUT_TRIES = 8 };

struct folder_upload {
    struct store_upload base;
    char *name;
    char *spec_path; /* for messages */
    int folder_fd, fd;
    char temporary[sizeof PATH_FOLDER_TEMPORARY + 32];
    bool is_there; /* whether the temporary exists */
    dev_t device;
    ino_t inode;
};

/* The folder of a name: "" for the store itself. The caller frees. */
static char *folder_name(const char *name) {
    const char *slash = strrchr(name, '/');
    return slash ? x_strndup(name, (size_t)(slash - name)) : x_strdup("");
}

static char *folder_path(const struct store *base, const char *folder) {
    return *folder ? file_join(base->path, folder) : x_strdup(base->path);
}

/* Recursion is as deep as names are: STORE_DEPTH_MAX. */
static int make_folder(const struct store *base, const char *folder, int *ret_fd,
                       struct error *err) {
    AUTO(text_freep) char *spec_path = folder_path(base, folder);
    struct error missing = {0};
    if (path_folder_open_fd(spec_path, ret_fd, &missing) == 0) {
        return 0;
    }
    if (missing.kind != ERROR_NOT_FOUND || !*folder) {
        *err = missing;
        return -1;
    }
    AUTO(text_freep) char *parent = folder_name(folder);
    AUTO(fd_closep) int parent_fd = -1;
    if (make_folder(base, parent, &parent_fd, err) < 0) {
        return -1;
    }
    if (mkdirat(parent_fd, file_basename(folder), 0777) < 0 && errno != EEXIST) {
        return error_from_errno(err, errno, "%s: cannot make the folder", spec_path);
    }
    return path_folder_open_fd(spec_path, ret_fd, err);
}

/* Syncs the folder's name in its parent, the parent's in its parent, and so on: the names then
 * survive a power failure, even if another process created them and died before syncing. */
static int sync_names(struct store *base, const char *folder, struct error *err) {
    struct path_folder *store = path_folder_of(base);
    pthread_mutex_lock(&store->lock);
    bool is_synced = !*folder || (store->synced && strcmp(store->synced, folder) == 0);
    pthread_mutex_unlock(&store->lock);
    if (is_synced) {
        return 0;
    }
    AUTO(text_freep) char *at = x_strdup(folder);
    do {
        AUTO(text_freep) char *parent = folder_name(at);
        AUTO(text_freep) char *spec_path = folder_path(base, parent);
        AUTO(fd_closep) int fd = -1;
        if (path_folder_open_fd(spec_path, &fd, err) < 0 ||
            path_folder_sync(fd, spec_path, err) < 0) {
            return -1;
        }
        free(at);
        at = TAKE(parent);
    } while (*at);
    pthread_mutex_lock(&store->lock);
    free(store->synced);
    store->synced = x_strdup(folder);
    pthread_mutex_unlock(&store->lock);
    return 0;
}

void path_folder_upload_free(struct store_upload *base) {
    struct folder_upload *upload = (struct folder_upload *)base;
    fd_closep(&upload->fd);
    if (upload->is_there) {
        (void)unlinkat(upload->folder_fd, upload->temporary, 0);
    }
    fd_closep(&upload->folder_fd);
    free(upload->name);
    free(upload->spec_path);
    free(upload);
}

int path_folder_upload_open(struct store *base, const char *name, struct store_upload **ret_upload,
                            struct error *err) {
    struct folder_upload *upload = x_calloc(1, sizeof *upload);
    AUTO(text_freep) char *folder = folder_name(name);
    AUTO(text_freep) char *random = digest_random(12);
    upload->fd = upload->folder_fd = -1;
    upload->name = x_strdup(name);
    upload->spec_path = file_join(base->path, name);
    snprintf(upload->temporary, sizeof upload->temporary, PATH_FOLDER_TEMPORARY "%s", random);
    struct stat status;
    int result = make_folder(base, folder, &upload->folder_fd, err);
    if (result == 0) {
        upload->fd = openat(upload->folder_fd, upload->temporary,
                            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        upload->is_there = upload->fd >= 0;
        if (upload->fd < 0 || fstat(upload->fd, &status) < 0) {
            result = error_from_errno(err, errno, "%s", upload->spec_path);
        }
    }
    if (result < 0) {
        path_folder_upload_free(&upload->base);
        return -1;
    }
    upload->device = status.st_dev;
    upload->inode = status.st_ino;
    *ret_upload = &upload->base;
    return 0;
}

int path_folder_upload_add(struct store_upload *base, const void *data, size_t size,
                           struct error *err) {
    struct folder_upload *upload = (struct folder_upload *)base;
    for (const char *at = data; size;) {
        ssize_t wrote = write(upload->fd, at, MIN(size, (size_t)1 << 30));
        if (wrote < 0 && errno == EINTR) {
            continue;
        }
        if (wrote < 0) {
            return error_from_errno(err, errno, "%s", upload->spec_path);
        }
        at += wrote;
        size -= (size_t)wrote;
    }
    return 0;
}

/* True if the object is the file that we wrote. NFS and SMB repeat a request whose response was
 * lost, and the second response (exists, does not exist) is then caused by our first request. */
static bool is_ours(const struct folder_upload *upload) {
    struct statx at;
    return statx(upload->folder_fd, file_basename(upload->name),
                 AT_SYMLINK_NOFOLLOW | AT_STATX_FORCE_SYNC, STATX_INO, &at) == 0 &&
           at.stx_ino == upload->inode &&
           makedev(at.stx_dev_major, at.stx_dev_minor) == upload->device;
}

/* An answer that was lost makes a network's second request fail with EEXIST, too. */
bool path_folder_has_links(int fd) {
    AUTO(text_freep) char *random = digest_random(12);
    AUTO(text_freep) char *from = x_printf(PATH_FOLDER_TEMPORARY "%s", random);
    AUTO(text_freep) char *to = x_printf("%s-2", from);
    AUTO(fd_closep)
    int made = openat(fd, from, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (made < 0) {
        return false;
    }
    bool is_made = linkat(fd, from, fd, to, 0) == 0 || errno == EEXIST;
    bool is_refused = is_made && linkat(fd, from, fd, to, 0) < 0 && errno == EEXIST;
    (void)unlinkat(fd, to, 0);
    (void)unlinkat(fd, from, 0);
    return is_refused;
}

static int create_object(struct folder_upload *upload, bool excludes) {
    int fd = upload->folder_fd;
    const char *last = file_basename(upload->name);
    struct stat status;
    if (linkat(fd, upload->temporary, fd, last, 0) == 0) {
        return 0;
    }
    if (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS || errno == EMLINK) {
        if (!excludes && fstatat(fd, last, &status, AT_SYMLINK_NOFOLLOW) == 0) {
            errno = EEXIST;
            return -1;
        }
        if (renameat2(fd, upload->temporary, fd, last, RENAME_NOREPLACE) == 0) {
            upload->is_there = false;
            return 0;
        }
        if (!excludes && (errno == EINVAL || errno == ENOSYS) &&
            renameat(fd, upload->temporary, fd, last) == 0) {
            upload->is_there = false;
            return 0;
        }
    }
    return (errno == EEXIST || errno == ENOENT) && is_ours(upload) ? 0 : -1;
}

static int replace_object(struct folder_upload *upload) {
    int fd = upload->folder_fd;
    if (renameat(fd, upload->temporary, fd, file_basename(upload->name)) == 0 ||
        (errno == ENOENT && is_ours(upload))) {
        upload->is_there = false;
        return 0;
    }
    return -1;
}

int path_folder_upload_commit(struct store_upload *base, enum store_put_mode how,
                              struct error *err) {
    struct folder_upload *upload = (struct folder_upload *)base;
    AUTO(text_freep) char *folder = folder_name(upload->name);
    /* Errors of writing are reported by fsync or, on FUSE and NFS, by close. */
    int fd = upload->fd;
    upload->fd = -1;
    int result = fsync(fd), errno_value = errno;
    if (close(fd) < 0 && result == 0) {
        result = -1;
        errno_value = errno;
    }
    if (result < 0) {
        return error_from_errno(err, errno_value, "%s", upload->spec_path);
    }
    if (sync_names(base->store, folder, err) < 0) {
        return -1;
    }
    bool excludes = path_folder_of(base->store)->features.creates;
    if ((how == STORE_CREATE ? create_object(upload, excludes) : replace_object(upload)) < 0) {
        return error_from_errno(err, errno, "%s", upload->spec_path);
    }
    if (upload->is_there && unlinkat(upload->folder_fd, upload->temporary, 0) == 0) {
        upload->is_there = false;
    }
    return path_folder_sync(upload->folder_fd, upload->spec_path, err);
}

static int put_once(struct store *base, const char *name, const void *data, size_t size,
                    enum store_put_mode how, struct error *err) {
    struct store_upload *upload = NULL;
    if (path_folder_upload_open(base, name, &upload, err) < 0) {
        return -1;
    }
    upload->store = base;
    int result = path_folder_upload_add(upload, data, size, err) < 0
                     ? -1
                     : path_folder_upload_commit(upload, how, err);
    path_folder_upload_free(upload);
    return result;
}

/* NOT_FOUND: a coordinator that has ended the run meanwhile took the temporary file for one that
 * was left (path_leftovers.c). */
int path_folder_put(struct store *base, const char *name, const void *data, size_t size,
                    enum store_put_mode how, struct error *err) {
    for (int i = 1; i < PUT_TRIES; i++) {
        struct error cause = {0};
        if (put_once(base, name, data, size, how, &cause) == 0) {
            return 0;
        }
        if (cause.kind != ERROR_NOT_FOUND) {
            *err = cause;
            return -1;
        }
    }
    return put_once(base, name, data, size, how, err);
}

int path_folder_remove(struct store *base, const char *name, struct error *err) {
    AUTO(text_freep) char *folder = folder_name(name);
    AUTO(text_freep) char *spec_path = folder_path(base, folder);
    AUTO(fd_closep) int fd = -1;
    struct error missing = {0};
    if (path_folder_open_fd(spec_path, &fd, &missing) < 0) {
        if (missing.kind == ERROR_NOT_FOUND) {
            return 0;
        }
        *err = missing;
        return -1;
    }
    return unlinkat(fd, file_basename(name), 0) == 0 || errno == ENOENT
               ? 0
               : error_from_errno(err, errno, "%s/%s", base->path, name);
}
