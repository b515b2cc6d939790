// SPDX-License-Identifier: Apache-2.0
#include "agent/data/parts.h"

#include "agent/store/path.h"
#include "lib/clock.h"
#include "lib/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LOCK_WAIT_MS = 2000, /* for a run that was just told to end */
    LOCK_STEP_MS = 20,
    CLAIM_TRIES = 100,
    UID_BYTES_MAX = 256,
};

/* In a coordinator's folder: its job's uid. */
#define CLAIM "part-claim"
#define TOP ".windlass"

int parts_folder(const char *output_path, const char *run, char **ret_folder, struct error *err) {
    AUTO(text_freep) char *spec_path = x_printf("%s/" TOP "/%s", output_path, run);
    if (path_make_folder(spec_path, ret_folder, err) < 0) {
        return error_context(err, "spec.output.path");
    }
    return 0;
}

void parts_release(struct parts *parts) {
    free(TAKE(parts->run));
    free(TAKE(parts->folder));
    fd_closep(&parts->lock_fd);
}

/* ---- the folders of one RUN ----------------------------------------------------------------- */

/* -1: the name is not a coordinator's. */
static int64_t number_of(const char *name) {
    size_t length = strlen(name);
    return length > 0 && length < 19 && strspn(name, "0123456789") == length
               ? strtoll(name, NULL, 10)
               : -1;
}

static char *parent_of(const char *folder) {
    return x_strndup(folder, (size_t)(file_basename(folder) - folder - 1));
}

static char *numbered(const char *run_folder, int64_t number) {
    return x_printf("%s/%lld", run_folder, (long long)number);
}

static int64_t newest(const char *run_folder) {
    DIR *entries = opendir(run_folder);
    int64_t largest = -1;
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        largest = MAX(largest, number_of(entry->d_name));
    }
    if (entries) {
        closedir(entries);
    }
    return largest;
}

/* The uid of the job whose coordinator made the folder; NULL: unknown. The caller frees. */
static char *owner_of(const char *folder) {
    struct error ignored = {0};
    AUTO(text_freep) char *path = file_join(folder, CLAIM);
    char *uid = NULL;
    size_t size = 0;
    return file_read(path, UID_BYTES_MAX, &uid, &size, &ignored) < 0 ? NULL : uid;
}

/* An earlier coordinator whose claim is left can tell a newer one of its own job from another's. */
static void remove_one(const char *folder, bool with_claim) {
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        if (text_starts(entry->d_name, "part-") &&
            (with_claim || strcmp(entry->d_name, CLAIM) != 0)) {
            unlinkat(dirfd(entries), entry->d_name, 0);
        }
    }
    if (entries) {
        closedir(entries);
    }
    (void)rmdir(folder);
}

static void remove_older(const char *run_folder, int64_t number, bool with_claims) {
    DIR *entries = opendir(run_folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        int64_t other = number_of(entry->d_name);
        if (other >= 0 && other < number) {
            AUTO(text_freep) char *folder = file_join(run_folder, entry->d_name);
            remove_one(folder, with_claims);
        }
    }
    if (entries) {
        closedir(entries);
    }
}

/* ---- claiming ------------------------------------------------------------------------------- */

/* 1: locked; 0: another has it, or it was removed meanwhile; -1: no such thing here. */
static int try_lock(int fd) {
    struct stat status;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        return errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
    }
    return fstat(fd, &status) == 0 && status.st_nlink > 0;
}

/* Whoever holds the lock is an earlier coordinator of our own job: it is no longer wanted. */
static bool is_our_own(const char *run_folder, const char *uid) {
    int64_t number = newest(run_folder);
    AUTO(text_freep) char *folder = numbered(run_folder, MAX(number, 0));
    AUTO(text_freep) char *owner = owner_of(folder);
    return owner && strcmp(owner, uid) == 0;
}

/* *ret_fd is -1 where this file system cannot lock a folder, or where the lock is our own job's. */
static int lock_run(const char *output_path, const char *run, const char *uid, int *ret_fd,
                    struct error *err) {
    for (int64_t end_ms = clock_monotonic_ms() + LOCK_WAIT_MS;; poll(NULL, 0, LOCK_STEP_MS)) {
        bool is_late = clock_monotonic_ms() >= end_ms;
        struct error cause = {0};
        AUTO(text_freep) char *folder = NULL;
        if (parts_folder(output_path, run, &folder, &cause) < 0) {
            /* Another run may remove .windlass while we make a folder in it. */
            if (cause.kind == ERROR_NOT_FOUND && !is_late) {
                continue;
            }
            *err = cause;
            return -1;
        }
        AUTO(fd_closep) int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int locked = fd < 0 ? 0 : try_lock(fd);
        if (locked != 0 || (is_late && is_our_own(folder, uid))) {
            *ret_fd = locked > 0 ? fd : -1;
            fd = locked > 0 ? -1 : fd;
            return 0;
        }
        if (is_late) {
            return error_set(err, ERROR_BUSY,
                             "spec.output.path: %s: another run of this job writes there (it holds "
                             "%s): let it end, or choose another folder",
                             output_path, folder);
        }
    }
}

/* A number larger than all there are, which nobody else got: mkdir is exclusive, and clocks that
 * differ do not matter while the earlier folder is there. */
static int make_numbered(const char *output_path, const char *run, struct parts *parts,
                         struct error *err) {
    for (int i = 0; i < CLAIM_TRIES; i++) {
        AUTO(text_freep) char *run_folder = NULL;
        if (parts_folder(output_path, run, &run_folder, err) < 0) {
            return -1;
        }
        parts->number = MAX(newest(run_folder) + 1, clock_wall_ms());
        AUTO(text_freep) char *folder = numbered(run_folder, parts->number);
        if (mkdir(folder, 0777) == 0) {
            parts->folder = TAKE(folder);
            parts->run = x_printf("%s/%lld", run, (long long)parts->number);
            return 0;
        }
        if (errno != EEXIST && errno != ENOENT) {
            return error_from_errno(err, errno, "spec.output.path: %s cannot be written",
                                    output_path);
        }
    }
    return error_set(err, ERROR_BUSY, "spec.output.path: %s: others write there", output_path);
}

int parts_claim(const char *output_path, const char *run, const char *uid, struct parts *ret_parts,
                struct error *err) {
    struct parts parts = {.lock_fd = -1};
    if (lock_run(output_path, run, uid, &parts.lock_fd, err) < 0 ||
        make_numbered(output_path, run, &parts, err) < 0) {
        parts_release(&parts);
        return -1;
    }
    AUTO(text_freep) char *claim = file_join(parts.folder, CLAIM);
    if (file_write(claim, uid, strlen(uid), err) < 0) {
        parts_release(&parts);
        return error_context(err, "spec.output.path: %s cannot be written", output_path);
    }
    AUTO(text_freep) char *run_folder = parent_of(parts.folder);
    remove_older(run_folder, parts.number, /* with_claims= */ false);
    *ret_parts = parts;
    return 0;
}

int parts_check(const char *folder, struct error *err) {
    int64_t number = number_of(file_basename(folder));
    if (number < 0) {
        return 0;
    }
    AUTO(text_freep) char *run_folder = parent_of(folder);
    AUTO(text_freep) char *owner = owner_of(folder);
    int64_t last = newest(run_folder);
    if (owner && last <= number) {
        return 0;
    }
    AUTO(text_freep) char *newer = numbered(run_folder, MAX(last, 0));
    AUTO(text_freep) char *other = last > number ? owner_of(newer) : NULL;
    if (owner && other && strcmp(owner, other) != 0) {
        return error_set(err, ERROR_BUSY,
                         "spec.output.path: another run of this job has taken over (it holds %s): "
                         "let it end, or choose another folder",
                         newer);
    }
    return error_set(err, ERROR_GONE, "a newer coordinator of this job has taken over");
}

void parts_remove(const char *folder) {
    AUTO(text_freep) char *parent = parent_of(folder);
    int64_t number = number_of(file_basename(folder));
    remove_one(folder, /* with_claim= */ true);
    if (number >= 0) {
        remove_older(parent, number, /* with_claims= */ true);
    }
    while (rmdir(parent) == 0 && strcmp(file_basename(parent), TOP) != 0) {
        AUTO(text_freep) char *inner = parent;
        parent = parent_of(inner);
    }
}
