// SPDX-License-Identifier: Apache-2.0
#include "operator/local/runs/run_entry.h"

#include "lib/file.h"
#include "lib/time/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { WRITE_EVERY_MS = 1000, NUMBER_MAX = 100 };

struct run_entry {
    char *path; /* without .json and .lock */
    int lock_fd;
    json_t *record;
    char *written; /* the text in the file */
    int64_t written_ms;
};

int run_entry_base(char **ret_folder, struct error *err) {
    const char *base = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (base && *base == '/') {
        *ret_folder = x_printf("%s/windlass", base);
    } else if (home && *home) {
        *ret_folder = x_printf("%s/.local/state/windlass", home);
    } else {
        return error_set(err, ERROR_UNAVAILABLE, "HOME is not set");
    }
    return 0;
}

/* fcntl and not flock: a child that lives on does not hold it, and F_GETLK says the holder. */
static int make_lock(const char *path, int *ret_fd) {
    AUTO(text_freep) char *file = x_printf("%s.lock", path);
    AUTO(fd_closep) int fd = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fd < 0 || fcntl(fd, F_SETLK, &lock) < 0) {
        return -1;
    }
    *ret_fd = fd;
    fd = -1;
    return 0;
}

static int open_lock(const char *folder, const char *name, char **ret_path, int *ret_fd,
                     struct error *err) {
    char when[32];
    time_t now = (time_t)(clock_wall_ms() / 1000);
    struct tm parts;
    localtime_r(&now, &parts);
    strftime(when, sizeof when, "%Y%m%d-%H%M%S", &parts);
    for (int number = 1; number <= NUMBER_MAX; number++) {
        AUTO(text_freep)
        char *path = number == 1 ? x_printf("%s/%s-%s", folder, name, when)
                                 : x_printf("%s/%s-%s-%d", folder, name, when, number);
        if (make_lock(path, ret_fd) == 0) {
            *ret_path = TAKE(path);
            return 0;
        }
        if (errno != EEXIST) {
            break;
        }
    }
    return error_from_errno(err, errno, "cannot make %s/%s-%s.lock", folder, name, when);
}

int run_entry_open(const json_t *about, struct run_entry **ret_entry, struct error *err) {
    AUTO(text_freep) char *base = NULL;
    AUTO(text_freep) char *path = NULL;
    int fd = -1;
    if (run_entry_base(&base, err) < 0) {
        return -1;
    }
    AUTO(text_freep) char *folder = file_join(base, "runs");
    if (file_make_folders(base, err) < 0 || (mkdir(folder, 0700) < 0 && errno != EEXIST) ||
        open_lock(folder, tree_text(about, "name", ""), &path, &fd, err) < 0) {
        return error_set(err, ERROR_UNAVAILABLE, "cannot make %s", folder);
    }
    struct run_entry *entry = x_calloc(1, sizeof *entry);
    *entry = (struct run_entry){
        .path = TAKE(path), .lock_fd = fd, .record = json_deep_copy((json_t *)about)};
    run_entry_write(entry, /* is_last= */ true);
    *ret_entry = entry;
    return 0;
}

void run_entry_set(struct run_entry *entry, const char *member, const json_t *value) {
    if (entry && value) {
        json_object_set(entry->record, member, (json_t *)value);
    }
}

/* Without a sync: after a crash of the machine the record may be empty, and is then left out. */
static void replace(const struct run_entry *entry, const char *text) {
    AUTO(text_freep) char *file = x_printf("%s.json", entry->path);
    AUTO(text_freep) char *next = x_printf("%s.next", entry->path);
    AUTO(fd_closep) int fd = open(next, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    size_t size = strlen(text);
    if (fd >= 0 && write(fd, text, size) == (ssize_t)size) {
        (void)!rename(next, file);
    } else {
        unlink(next);
    }
}

void run_entry_write(struct run_entry *entry, bool is_last) {
    int64_t now_ms = clock_monotonic_ms();
    if (!entry || (!is_last && now_ms - entry->written_ms < WRITE_EVERY_MS)) {
        return;
    }
    AUTO(text_freep) char *text = tree_compact(entry->record);
    entry->written_ms = now_ms;
    if (entry->written && strcmp(entry->written, text) == 0) {
        return;
    }
    replace(entry, text);
    free(entry->written);
    entry->written = TAKE(text);
}

void run_entry_free(struct run_entry *entry) {
    if (!entry) {
        return;
    }
    fd_closep(&entry->lock_fd);
    json_decref(entry->record);
    free(entry->path);
    free(entry->written);
    free(entry);
}
