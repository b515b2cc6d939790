// SPDX-License-Identifier: Apache-2.0
/* The store of a folder of a volume: its table of functions. */
#include "agent/store/path_folder.h"

#include "agent/store/path.h"
#include "lib/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* ---- opening -------------------------------------------------------------------------------- */

/* The resolution of times: of disks a tick of the kernel; of servers it is not known (FAT: 2 s),
 * and their clocks may differ from ours. */
enum { DISK_TICK_MS = 20, SERVER_TICK_MS = 3000 };

/* What creates an object only if it is absent. A hard link does, wherever the file system has
 * links: the server decides. Where it has none, renameat2(RENAME_NOREPLACE) does only on a disk of
 * this machine; over a network (SMB) it is a look by the client, followed by a rename that
 * replaces. */
enum creation {
    BY_LINK,           /* if the file system turns out to have hard links */
    BY_LINK_OR_RENAME, /* disks without links */
    BY_NOTHING,
};

/* Those that are not listed count as disks with hard links. */
static const struct {
    long magic;
    enum creation creation;
    bool has_inodes;
} file_systems[] = {
    /* blobfuse, virtiofs, sshfs, ...: some link or rename over what is there, which a test would
     * not show reliably. */
    {FUSE_SUPER_MAGIC, BY_NOTHING, false},
    {NFS_SUPER_MAGIC, BY_LINK, false},
    {(long)0xFF534D42, BY_LINK, false}, /* SMB, as reported by cifs */
    {(long)0xFE534D42, BY_LINK, false}, /* SMB 2 and later */
    {SMB_SUPER_MAGIC, BY_LINK, false},
    {V9FS_MAGIC, BY_LINK, false},
    {MSDOS_SUPER_MAGIC, BY_LINK_OR_RENAME, true},
    {EXFAT_SUPER_MAGIC, BY_LINK_OR_RENAME, true},
};

/* Disks and memory of this machine, as far as they are known. */
static bool is_disk(const struct statfs *status) {
    static const uint32_t magics[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
                                      F2FS_SUPER_MAGIC, TMPFS_MAGIC};
    for (size_t i = 0; i < ARRAY_LEN(magics); i++) {
        if ((uint32_t)status->f_type == magics[i]) {
            return true;
        }
    }
    return false;
}

/* On some systems f_type is a signed 32-bit number. Opened for reading, a store creates nothing. */
static void detect_file_system(struct path_folder *store, const struct statfs *status, int fd,
                               bool writes) {
    enum creation creation = BY_LINK;
    int tick_ms = DISK_TICK_MS;
    store->has_inodes = store->has_changes = true;
    for (size_t i = 0; i < ARRAY_LEN(file_systems); i++) {
        if ((uint32_t)status->f_type == (uint32_t)file_systems[i].magic) {
            creation = file_systems[i].creation;
            store->has_inodes = file_systems[i].has_inodes;
            store->has_changes = file_systems[i].magic == NFS_SUPER_MAGIC;
            tick_ms = SERVER_TICK_MS;
        }
    }
    bool creates = creation == BY_LINK_OR_RENAME ||
                   (creation == BY_LINK && (!writes || path_folder_has_links(fd)));
    store->features = (struct store_abilities){
        .creates = creates, .is_local = true, .is_disk = is_disk(status), .tick_ms = tick_ms};
}

/* Syncs the folders above the store, within the volume: their names must survive a power failure
 * like their content. */
static int sync_above(const char *spec_path, struct error *err) {
    AUTO(text_freep) char *path = x_strdup(spec_path);
    for (char *slash; (slash = strrchr(path, '/'));) {
        *slash = 0;
        AUTO(fd_closep) int fd = -1;
        struct error denied = {0};
        if (path_folder_open_fd(path, &fd, &denied) == 0 && path_folder_sync(fd, path, err) < 0) {
            return -1; /* a folder without read permission cannot be synced */
        }
    }
    return 0;
}

static int path_folder_open(const char *spec_path, bool writes, struct store **ret_store,
                            struct error *err) {
    AUTO(fd_closep) int fd = -1;
    struct statfs status;
    if ((writes ? path_make_folder(spec_path, &fd, NULL, err)
                : path_folder_open_fd(spec_path, &fd, err)) < 0 ||
        (writes && sync_above(spec_path, err) < 0)) {
        return -1;
    }
    if (fstatfs(fd, &status) < 0) {
        return error_from_errno(err, errno, "%s", spec_path);
    }
    struct path_folder *store = x_calloc(1, sizeof *store);
    detect_file_system(store, &status, fd, writes);
    store->probe = path_probe_new(spec_path);
    pthread_mutex_init(&store->lock, NULL);
    *ret_store = &store->base;
    return 0;
}

/* The volume's folder exists before any output, and querying it costs a server little. */
static int path_folder_try(const char *spec_path, int timeout_ms, struct error *err) {
    AUTO(text_freep) char *volume = x_strndup(spec_path, strcspn(spec_path, "/"));
    struct path_probe *probe = path_probe_new(volume);
    struct error answer = {0};
    (void)!path_probe_wait(probe, timeout_ms, &answer);
    path_probe_free(probe);
    if (answer.kind != ERROR_UNAVAILABLE && answer.kind != ERROR_TIMEOUT) {
        return 0;
    }
    *err = answer;
    return -1;
}

static void path_folder_free(struct store *base) {
    struct path_folder *store = path_folder_of(base);
    path_probe_free(store->probe);
    pthread_mutex_destroy(&store->lock);
    free(store->synced);
    free(store);
}

static struct store_abilities path_folder_features(const struct store *base) {
    return ((const struct path_folder *)base)->features;
}

static int path_folder_probe(struct store *base, int timeout_ms, struct error *err) {
    return path_probe_wait(path_folder_of(base)->probe, timeout_ms, err);
}

/* ---- reading -------------------------------------------------------------------------------- */

static int open_object(struct store *base, const char *name, char **ret_spec_path, int *ret_fd,
                       struct store_info *ret_info, struct error *err) {
    AUTO(text_freep) char *spec_path = file_join(base->path, name);
    AUTO(fd_closep) int fd = -1;
    struct stat status;
    if (path_open(spec_path, &fd, err) < 0) {
        return -1;
    }
    if (fstat(fd, &status) < 0) {
        return error_from_errno(err, errno, "%s", spec_path);
    }
    if (!S_ISREG(status.st_mode)) {
        return error_set(err, ERROR_INVALID, "%s: is not a regular file", spec_path);
    }
    path_folder_info(base, &status, ret_info);
    *ret_spec_path = TAKE(spec_path);
    *ret_fd = fd;
    fd = -1;
    return 0;
}

/* -1 with errno; fewer than size only at the end. */
static ssize_t read_at(int fd, char *data, size_t size, int64_t offset) {
    size_t done = 0;
    while (done < size) {
        size_t piece = MIN(size - done, (size_t)1 << 30);
        ssize_t got = pread(fd, data + done, piece, (off_t)(offset + (int64_t)done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return -1;
        }
        if (got == 0) {
            break;
        }
        done += (size_t)got;
    }
    return (ssize_t)done;
}

static int path_folder_get(struct store *base, const char *name, struct buffer *buffer,
                           struct store_info *ret_info, struct error *err) {
    AUTO(text_freep) char *spec_path = NULL;
    AUTO(fd_closep) int fd = -1;
    struct store_info info;
    if (open_object(base, name, &spec_path, &fd, &info, err) < 0) {
        return -1;
    }
    NOT_ZEROED char chunk[65536];
    for (int64_t offset = 0;;) {
        ssize_t got = read_at(fd, chunk, sizeof chunk, offset);
        if (got < 0) {
            return error_from_errno(err, errno, "%s", spec_path);
        }
        struct error full = {0};
        if (buffer_append(buffer, chunk, (size_t)got, &full) < 0) {
            return error_set(err, ERROR_INVALID, "%s: %s", spec_path, full.text);
        }
        offset += got;
        if (got < (ssize_t)sizeof chunk) {
            break;
        }
    }
    if (!ret_info) {
        return 0;
    }
    struct stat after;
    char token[STORE_TOKEN_MAX];
    if (fstat(fd, &after) < 0) {
        return error_from_errno(err, errno, "%s", spec_path);
    }
    memcpy(token, info.token, sizeof token);
    path_folder_info(base, &after, &info);
    if (strcmp(token, info.token) != 0) {
        *info.token = 0;
    }
    *ret_info = info;
    return 0;
}

static int path_folder_read(struct store *base, const char *name, const struct store_piece *piece,
                            size_t *ret_size, struct error *err) {
    AUTO(text_freep) char *spec_path = NULL;
    AUTO(fd_closep) int fd = -1;
    struct store_info info;
    struct stat after;
    if (open_object(base, name, &spec_path, &fd, &info, err) < 0) {
        return -1;
    }
    ssize_t got = read_at(fd, piece->data, piece->size, piece->offset);
    if (got < 0 || fstat(fd, &after) < 0) {
        return error_from_errno(err, errno, "%s", spec_path);
    }
    /* Checked after the read, too, since a file that is written in place may change during it. */
    const char *token = piece->token;
    bool is_same = !token || strcmp(info.token, token) == 0;
    path_folder_info(base, &after, &info);
    if (!is_same || (token && strcmp(info.token, token) != 0)) {
        return error_set(err, ERROR_CONFLICT, "%s: has changed since it was listed", spec_path);
    }
    *ret_size = (size_t)got;
    return 0;
}

static int path_folder_stat(struct store *base, const char *name, struct store_info *ret_info,
                            struct error *err) {
    AUTO(text_freep) char *spec_path = NULL;
    AUTO(fd_closep) int fd = -1;
    struct store_info info;
    if (open_object(base, name, &spec_path, &fd, &info, err) < 0) {
        return -1;
    }
    *ret_info = info;
    return 0;
}

const struct store_ops path_store_ops = {
    .prefix = "",
    .open = path_folder_open,
    .try_path = path_folder_try,
    .free = path_folder_free,
    .features = path_folder_features,
    .probe = path_folder_probe,
    .get = path_folder_get,
    .read = path_folder_read,
    .stat = path_folder_stat,
    .put = path_folder_put,
    .remove = path_folder_remove,
    .list = path_folder_list,
    .list_infos = path_folder_list_infos,
    .list_all = path_folder_list_all,
    .clear = path_folder_clear,
    .remove_leftovers = path_folder_remove_leftovers,
    .upload_open = path_folder_upload_open,
    .upload_add = path_folder_upload_add,
    .upload_commit = path_folder_upload_commit,
    .upload_free = path_folder_upload_free,
};
