/* path_folder.h: a folder of a volume as a store (store.h), shared by the files that implement it:
 * path_folder.c has what all need, path_store.c opens and reads, path_write.c writes, path_list.c
 * lists, path_leftovers.c removes, path_probe.c checks whether the storage responds. */
#pragma once

#include "agent/store/store_ops.h"

#include <pthread.h>
#include <sys/stat.h>

/* Prefix of unfinished objects: hidden files in the same folder. */
#define PATH_FOLDER_TEMPORARY ".windlass-tmp-"

struct path_folder {
    struct store base;
    struct store_abilities features;
    bool has_inodes;  /* inode numbers are stable and part of the token */
    bool has_changes; /* so is the time of the last change, which no program sets */
    struct path_probe *probe;
    pthread_mutex_t lock;
    char *synced; /* guarded by the lock: the last folder whose name is known to be on the disk */
};

static inline struct path_folder *path_folder_of(struct store *store) {
    return (struct path_folder *)store;
}

/* An open folder, for fsync and as the start of relative names. NOT_FOUND; INVALID: a file. */
NODISCARD int path_folder_open_fd(const char *spec_path, int *ret_fd, struct error *err);
NODISCARD int path_folder_sync(int fd, const char *spec_path, struct error *err);

/* Whether a hard link is made in this folder, and refused where its name is taken. Tried, since
 * servers of one protocol differ: Azure Files has no links over SMB. */
bool path_folder_has_links(int fd);

int path_folder_upload_open(struct store *base, const char *name, struct store_upload **ret_upload,
                            struct error *err);
int path_folder_upload_add(struct store_upload *base, const void *data, size_t size,
                           struct error *err);
int path_folder_upload_commit(struct store_upload *base, enum store_put_mode how,
                              struct error *err);
void path_folder_upload_free(struct store_upload *base);
int path_folder_put(struct store *base, const char *name, const void *data, size_t size,
                    enum store_put_mode how, struct error *err);
int path_folder_remove(struct store *base, const char *name, struct error *err);
int path_folder_list(struct store *base, const char *prefix, const char *after, store_each *each,
                     void *context, struct error *err);
int path_folder_list_infos(struct store *base, const char *prefix, const char *after,
                           store_each *each, void *context, struct error *err);
int path_folder_list_all(struct store *base, const char *prefix, const char *after,
                         store_each *each, void *context, struct error *err);
void path_folder_info(const struct store *base, const struct stat *status,
                      struct store_info *ret_info);

int path_folder_clear(struct store *base, const char *prefix, struct error *err);
int path_folder_remove_leftovers(struct store *base, struct error *err);

/* Checks a path in a separate thread. A thread that never returns is abandoned; there is at most
 * one for each struct path_probe. */
struct path_probe *path_probe_new(const char *spec_path);

/* ERROR_TIMEOUT: no answer within timeout_ms of this process's life (time in which it is stopped
 * does not count). */
NODISCARD int path_probe_wait(struct path_probe *probe, int timeout_ms, struct error *err);
void path_probe_free(struct path_probe *probe);
