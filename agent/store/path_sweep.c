// SPDX-License-Identifier: Apache-2.0
/* Removes what a finished run leaves: its tries, and the temporaries of killed writers. */
#include "agent/store/path.h"
#include "agent/store/path_folder.h"
#include "lib/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int path_folder_clear(struct store *base, const char *prefix, struct error *err) {
    AUTO(text_freep) char *spec_path = file_join(base->path, prefix);
    AUTO(text_freep) char *path = NULL;
    return path_resolve(spec_path, &path, err) < 0 ? -1 : file_remove_tree(path, err);
}

static void sweep(int folder_fd, int depth);

/* Folders that contain an output belong to another run; links are never followed. In our own
 * .windlass killed coordinators leave temporaries, too. */
static void sweep_below(int folder_fd, const char *name, int depth) {
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = depth < STORE_DEPTH_MAX ? openat(folder_fd, name, flags) : -1;
    if (fd >= 0 && faccessat(fd, ".windlass", F_OK, AT_SYMLINK_NOFOLLOW) < 0) {
        sweep(fd, depth + 1);
    } else if (fd >= 0) {
        close(fd);
    }
}

/* Closes folder_fd. */
static void sweep(int folder_fd, int depth) {
    DIR *entries = fdopendir(folder_fd);
    if (!entries) {
        close(folder_fd);
        return;
    }
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (text_starts(entry->d_name, PATH_FOLDER_TEMPORARY)) {
            (void)unlinkat(folder_fd, entry->d_name, 0);
        } else if ((entry->d_name[0] != '.' ||
                    (depth == 0 && strcmp(entry->d_name, ".windlass") == 0)) &&
                   (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN)) {
            sweep_below(folder_fd, entry->d_name, depth);
        }
    }
    closedir(entries);
}

int path_folder_sweep(struct store *base, struct error *err) {
    int fd = -1;
    if (path_folder_open_fd(base->path, &fd, err) < 0) {
        return -1;
    }
    sweep(fd, 0);
    return 0;
}
