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
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOCK_WAIT_MS = 2000 /* for a run that was just told to end */, LOCK_STEP_MS = 20 };

int parts_folder(const char *output_path, const char *run, char **ret_folder, struct error *err) {
    AUTO(text_freep) char *spec_path = x_printf("%s/.windlass/%s", output_path, run);
    if (path_make_folder(spec_path, ret_folder, err) < 0) {
        return error_context(err, "spec.output.path");
    }
    return 0;
}

/* 1: locked; 0: another has it, or it was removed meanwhile; -1: no such thing here. */
static int try_lock(int fd) {
    struct stat status;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        return errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
    }
    return fstat(fd, &status) == 0 && status.st_nlink > 0;
}

int parts_lock(const char *output_path, const char *run, int *ret_fd, struct error *err) {
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
        if (locked != 0) {
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

void parts_remove(const char *folder) {
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        if (text_starts(entry->d_name, "part-")) {
            unlinkat(dirfd(entries), entry->d_name, 0);
        }
    }
    if (entries) {
        closedir(entries);
    }
    AUTO(text_freep) char *parent = x_strndup(folder, (size_t)(file_basename(folder) - folder));
    (void)(rmdir(folder) == 0 && rmdir(parent) == 0);
}
