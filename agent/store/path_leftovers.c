// SPDX-License-Identifier: Apache-2.0
/* Removes what a finished run leaves: its tries, and the temporaries of killed writers. */
#include "agent/store/path_folder.h"
#include "lib/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CLEAR_ROUNDS = 100 }; /* some file systems skip names where others have been removed */

static int clear_entry(int folder_fd, const char *name, int depth);

/* Removes what is in the folder, as far as it is seen; -1 with errno. */
static int clear_round(DIR *entries, int depth, bool *ret_removed) {
    int fd = dirfd(entries);
    *ret_removed = false;
    rewinddir(entries);
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            if (clear_entry(fd, entry->d_name, depth + 1) < 0) {
                return -1;
            }
            *ret_removed = true;
        }
    }
    return 0;
}

static int clear_folder(int fd, int depth) {
    DIR *entries = fdopendir(fd);
    bool is_removed = true;
    int result = 0;
    if (!entries) {
        close(fd);
        return -1;
    }
    for (int i = 0; i < CLEAR_ROUNDS && is_removed && result == 0; i++) {
        result = clear_round(entries, depth, &is_removed);
    }
    int errno_value = errno;
    closedir(entries);
    errno = errno_value;
    return result;
}

/* Removes a file, a link or a folder with all that is in it. Each folder is opened from the one
 * above, so that links, also those that take a folder's place meanwhile, are never followed. */
static int clear_entry(int folder_fd, const char *name, int depth) {
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    if (unlinkat(folder_fd, name, 0) == 0 || errno == ENOENT) {
        return 0;
    }
    if (errno != EISDIR && errno != EPERM) {
        return -1;
    }
    int fd = depth < STORE_DEPTH_MAX ? openat(folder_fd, name, flags) : -1;
    if (fd < 0) {
        errno = depth < STORE_DEPTH_MAX ? errno : ELOOP;
        return errno == ENOENT ? 0 : -1;
    }
    return clear_folder(fd, depth) < 0 ||
                   (unlinkat(folder_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
               ? -1
               : 0;
}

int path_folder_clear(struct store *base, const char *prefix, struct error *err) {
    AUTO(text_freep) char *spec_path = file_join(base->path, prefix);
    while (text_ends(spec_path, "/")) {
        spec_path[strlen(spec_path) - 1] = 0;
    }
    AUTO(text_freep)
    char *folder = x_strndup(spec_path, (size_t)(file_basename(spec_path) - spec_path));
    AUTO(fd_closep) int fd = -1;
    struct error missing = {0};
    if (path_folder_open_fd(folder, &fd, &missing) < 0) {
        *err = missing.kind == ERROR_NOT_FOUND ? *err : missing;
        return missing.kind == ERROR_NOT_FOUND ? 0 : -1;
    }
    return clear_entry(fd, file_basename(spec_path), 0) < 0
               ? error_from_errno(err, errno, "cannot remove %s", spec_path)
               : 0;
}

static void remove_leftovers(int folder_fd, int depth);

/* Folders that contain an output belong to another run; links are never followed. In our own
 * .windlass killed coordinators leave temporaries, too. */
static void remove_leftovers_below(int folder_fd, const char *name, int depth) {
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = depth < STORE_DEPTH_MAX ? openat(folder_fd, name, flags) : -1;
    if (fd >= 0 && faccessat(fd, ".windlass", F_OK, AT_SYMLINK_NOFOLLOW) < 0) {
        remove_leftovers(fd, depth + 1);
    } else if (fd >= 0) {
        close(fd);
    }
}

/* Closes folder_fd. */
static void remove_leftovers(int folder_fd, int depth) {
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
            remove_leftovers_below(folder_fd, entry->d_name, depth);
        }
    }
    closedir(entries);
}

int path_folder_remove_leftovers(struct store *base, struct error *err) {
    int fd = -1;
    if (path_folder_open_fd(base->path, &fd, err) < 0) {
        return -1;
    }
    remove_leftovers(fd, 0);
    return 0;
}
