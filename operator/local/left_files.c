// SPDX-License-Identifier: Apache-2.0
#include "operator/local/left_files.h"

#include "lib/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 32, FOLDERS_MAX = 1000 };

struct search {
    struct left_files *left;
    size_t entries;
};

static bool is_core(const char *name) {
    const char *rest = strncmp(name, "core", 4) == 0 ? name + 4 : "x";
    return !*rest || (*rest == '.' && rest[1] && !rest[1 + strspn(rest + 1, "0123456789")]);
}

static void note(struct left_files *left, const char *path, int64_t bytes) {
    left->bytes += bytes;
    if (left->count++ < LEFT_FILES_NAMES) {
        char *names =
            left->names ? x_printf("%s, %.200s", left->names, path) : x_printf("%.200s", path);
        free(left->names);
        left->names = names;
    }
}

/* path: of the folder, from the working folder on; "" or with a slash at the end. Takes fd over. */
static void search_folder(struct search *search, int fd, const char *path, int depth) {
    DIR *folder = fdopendir(fd);
    if (!folder) {
        close(fd);
        return;
    }
    for (struct dirent *entry; search->entries < LEFT_FILES_MAX && (entry = readdir(folder));) {
        const char *name = entry->d_name;
        struct stat status;
        search->entries++;
        if (name[0] == '.' || strcmp(name, "__pycache__") == 0 || is_core(name) ||
            fstatat(dirfd(folder), name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
            continue;
        }
        if (S_ISREG(status.st_mode)) {
            AUTO(text_freep) char *file = x_printf("%s%s", path, name);
            note(search->left, file, status.st_size);
        } else if (S_ISDIR(status.st_mode) && depth < DEPTH_MAX) {
            AUTO(text_freep) char *below = x_printf("%s%s/", path, name);
            int next = openat(dirfd(folder), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            if (next >= 0) {
                search_folder(search, next, below, depth + 1);
            }
        }
    }
    closedir(folder);
}

/* STATE/left, made new. NULL: it cannot be made. */
static char *make_folder(const char *state_folder) {
    for (int number = 1; number <= FOLDERS_MAX; number++) {
        AUTO(text_freep)
        char *path = number == 1 ? x_printf("%s/left", state_folder)
                                 : x_printf("%s/left-%d", state_folder, number);
        if (mkdir(path, 0777) == 0) {
            return TAKE(path);
        }
        if (errno != EEXIST) {
            return NULL;
        }
    }
    return NULL;
}

/* Moves a pod's working folder; if it cannot be moved, it stays where it is. */
static void keep(struct left_files *left, const char *state_folder, const char *work,
                 const char *pod) {
    left->folder = left->folder ? left->folder : make_folder(state_folder);
    AUTO(text_freep) char *to = left->folder ? file_join(left->folder, pod) : NULL;
    if (!to || rename(work, to) < 0) {
        fprintf(stderr, "windlass: %s: cannot keep it: %s\n", work, strerror(errno));
    }
}

void left_files_clear(const char *state_folder) {
    AUTO(text_freep) char *pods = file_join(state_folder, "pods");
    DIR *folder = opendir(pods);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        AUTO(text_freep) char *work = x_printf("%s/%s/work", pods, entry->d_name);
        struct error ignored = {0};
        if (entry->d_name[0] != '.' && file_remove_tree(work, &ignored) < 0) {
            error_clear(&ignored); /* it is found when the run ends */
        }
    }
    if (folder) {
        closedir(folder);
    }
}

void left_files_find(const char *state_folder, struct left_files *ret_left) {
    struct left_files left = {0};
    struct search search = {.left = &left};
    AUTO(text_freep) char *pods = file_join(state_folder, "pods");
    DIR *folder = opendir(pods);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        AUTO(text_freep) char *work = x_printf("%s/%s/work", pods, entry->d_name);
        size_t before = left.count;
        int fd = entry->d_name[0] == '.'
                     ? -1
                     : open(work, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0) {
            search_folder(&search, fd, "", 0);
        }
        if (left.count > before) {
            keep(&left, state_folder, work, entry->d_name);
        }
    }
    if (folder) {
        closedir(folder);
    }
    *ret_left = left;
}

int left_files_print(const struct left_files *left, const char *job) {
    fprintf(
        stderr,
        "windlass: %s failed: its programs left %zu file%s (%lld bytes) in their working "
        "folder, which ends with the run: %s%s\n"
        "  next: write results below a volume, such as $(VOLUME)/FOLDER, what may be lost below "
        "$TMPDIR, and run again\n",
        job, left->count, left->count == 1 ? "" : "s", (long long)left->bytes, left->names,
        left->count > LEFT_FILES_NAMES ? ", ..." : "");
    if (left->folder) {
        fprintf(stderr, "  kept: %s (to remove it: rm -r %s)\n", left->folder, left->folder);
    }
    return 1;
}

void left_files_release(struct left_files *left) {
    free(left->names);
    free(left->folder);
    *left = (struct left_files){0};
}
