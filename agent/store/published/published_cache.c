// SPDX-License-Identifier: Apache-2.0
#include "agent/store/published/published_cache.h"

#include "agent/store/cloud/cloud_place.h"
#include "lib/digest.h"
#include "lib/file.h"
#include "lib/time/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    FILES_MAX = 16,
    LOOK_MS = 100,
    WAIT_MS = 30 * 60 * 1000,
    PIECE_BYTES = 1 << 20,
    NAME_BYTES = 64,
};

/* ---- the folder ----------------------------------------------------------------------------- */

static int open_below(int folder_fd, const char *name) {
    (void)!mkdirat(folder_fd, name, 0777);
    return openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int open_folder(void) {
    const char *given = cloud_variable("XDG_CACHE_HOME"), *home = cloud_variable("HOME");
    AUTO(text_freep)
    char *path = given ? x_strdup(given) : home ? file_join(home, ".cache") : NULL;
    struct error ignored = {0};
    if (!path || *path != '/' || file_make_folders(path, &ignored) < 0) {
        return -1;
    }
    AUTO(fd_closep) int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO(fd_closep) int ours = root < 0 ? -1 : open_below(root, "windlass");
    return ours < 0 ? -1 : open_below(ours, "models");
}

static int lock(int folder_fd, const char *sha256) {
    AUTO(text_freep) char *name = x_printf("%s.lock", sha256);
    int fd = openat(folder_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    int64_t end_ms = clock_monotonic_ms() + WAIT_MS;
    while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || clock_monotonic_ms() >= end_ms) {
            close(fd);
            return -1;
        }
        nanosleep(&(struct timespec){0, LOOK_MS * 1000000L}, NULL);
    }
    return fd;
}

void published_cache_open(const char *sha256, struct published_cache *ret_cache) {
    int folder_fd = open_folder();
    *ret_cache = (struct published_cache){.folder_fd = folder_fd,
                                          .lock_fd = folder_fd < 0 ? -1 : lock(folder_fd, sha256)};
}

void published_cache_close(struct published_cache *cache) {
    fd_closep(&cache->lock_fd);
    fd_closep(&cache->folder_fd);
}

/* ---- files ---------------------------------------------------------------------------------- */

/* Copies all that is in one file to the end of another. *ret_is_full: the other one could not be
 * written. */
static bool copy(int from_fd, int to_fd, char hex[static 65], bool *ret_is_full) {
    AUTO(text_freep) char *piece = x_malloc(PIECE_BYTES);
    struct digest *digest = digest_new();
    bool is_whole = false;
    *ret_is_full = false;
    for (off_t at = 0;;) {
        ssize_t size = pread(from_fd, piece, PIECE_BYTES, at);
        if (size <= 0) {
            is_whole = size == 0;
            break;
        }
        digest_add(digest, piece, (size_t)size);
        if (pwrite(to_fd, piece, (size_t)size, at) != size) {
            *ret_is_full = true;
            break;
        }
        at += size;
    }
    digest_end(digest, hex);
    return is_whole;
}

bool published_cache_take(const struct published_cache *cache, const char *sha256, int fd) {
    struct stat status;
    char hex[65];
    AUTO(fd_closep)
    int kept = cache->folder_fd < 0 ? -1
                                    : openat(cache->folder_fd, sha256,
                                             O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (kept < 0) {
        return false;
    }
    bool is_full = false, is_file = fstat(kept, &status) == 0 && S_ISREG(status.st_mode) &&
                                    status.st_size <= PUBLISHED_BYTES_MAX;
    if (is_file && copy(kept, fd, hex, &is_full) && strcmp(hex, sha256) == 0) {
        (void)!futimens(kept, NULL); /* the one that was used last is removed last */
        return true;
    }
    if (!is_full) { /* a reader without room: the file may be good */
        (void)!unlinkat(cache->folder_fd, sha256, 0);
    }
    (void)!ftruncate(fd, 0);
    return false;
}

/* Removes the file that was used least recently, if there are too many. False: none was. */
static bool remove_one(int folder_fd) {
    AUTO(fd_closep) int again = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = again < 0 ? NULL : fdopendir(again);
    char oldest[NAME_BYTES + 1] = "";
    struct timespec oldest_time = {0};
    int count = 0;
    if (!folder) {
        return false;
    }
    again = -1; /* closedir closes it */
    for (struct dirent *one; (one = readdir(folder));) {
        struct stat status;
        if (strlen(one->d_name) != NAME_BYTES ||
            fstatat(folder_fd, one->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
            continue;
        }
        const struct timespec *time = &status.st_mtim;
        bool is_older = time->tv_sec < oldest_time.tv_sec ||
                        (time->tv_sec == oldest_time.tv_sec && time->tv_nsec < oldest_time.tv_nsec);
        if (!*oldest || is_older) {
            memcpy(oldest, one->d_name, sizeof oldest);
            oldest_time = *time;
        }
        count++;
    }
    closedir(folder);
    if (count <= FILES_MAX) {
        return false;
    }
    AUTO(text_freep) char *its_lock = x_printf("%s.lock", oldest);
    (void)!unlinkat(folder_fd, its_lock, 0);
    return unlinkat(folder_fd, oldest, 0) == 0;
}

void published_cache_keep(const struct published_cache *cache, const char *sha256, int fd) {
    if (cache->lock_fd < 0) {
        return; /* another process may be writing it */
    }
    AUTO(text_freep) char *part = x_printf("%s.part", sha256);
    char hex[65];
    (void)!unlinkat(cache->folder_fd, part, 0); /* of a process that was killed */
    AUTO(fd_closep)
    int to =
        openat(cache->folder_fd, part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (to < 0) {
        return;
    }
    bool is_full = false, is_kept = copy(fd, to, hex, &is_full) && strcmp(hex, sha256) == 0 &&
                                    fsync(to) == 0 &&
                                    renameat(cache->folder_fd, part, cache->folder_fd, sha256) == 0;
    is_kept ? (void)0 : (void)!unlinkat(cache->folder_fd, part, 0);
    while (remove_one(cache->folder_fd)) {
    }
}
