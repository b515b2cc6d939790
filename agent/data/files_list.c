// SPDX-License-Identifier: Apache-2.0
#include "agent/data/files_list.h"

#include "agent/data/media.h"
#include "agent/store/path.h"
#include "lib/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDERS_DEEP_MAX = 64 };

struct walk {
    struct files_list *list;
    const char *folder; /* spec path */
    const char *pattern;
    bool is_whole_path; /* the pattern has a slash */
    bool has_output;
    struct stat output; /* the results' folder, which is left out */
};

static bool is_same_folder(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool is_match(const struct walk *walk, const char *path) {
    return walk->is_whole_path ? fnmatch(walk->pattern, path, FNM_PATHNAME | FNM_PERIOD) == 0
                               : fnmatch(walk->pattern, file_basename(path), FNM_PERIOD) == 0;
}

/* A link counts as what it points at, if that is a file of the volume. */
static bool is_linked_file(const struct walk *walk, const char *path) {
    AUTO(text_freep) char *spec_path = file_join(walk->folder, path);
    AUTO(fd_closep) int fd = -1;
    struct error ignored = {0};
    struct stat status;
    return path_open(spec_path, &fd, &ignored) == 0 && fstat(fd, &status) == 0 &&
           S_ISREG(status.st_mode);
}

static int add_file(struct walk *walk, const char *path, bool is_link, struct error *err) {
    struct files_list *list = walk->list;
    AUTO(tree_freep) json_t *text = json_string(path); /* NULL: no UTF-8 */
    if (!is_match(walk, path)) {
        return 0;
    }
    if (!text || strlen(path) > PATH_BYTES_MAX || (is_link && !is_linked_file(walk, path))) {
        list->skipped++;
        return 0;
    }
    if (list->count == MEDIA_FILES_MAX) {
        return error_set(err, ERROR_INVALID, "%s holds more than %d files", walk->folder,
                         MEDIA_FILES_MAX);
    }
    if (list->count == list->room) {
        list->room = list->room ? list->room * 2 : 256;
        list->names = x_realloc_array(list->names, (size_t)list->room, sizeof *list->names);
    }
    list->names[list->count++] = x_strdup(path);
    return 0;
}

static int walk_folder(struct walk *walk, int fd_owned, const char *path, int depth,
                       struct error *err);

static int walk_entry(struct walk *walk, int folder_fd, const char *path, int depth,
                      struct error *err) {
    const char *name = file_basename(path);
    struct stat status;
    if (name[0] == '.' || fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
        return 0; /* hidden, or gone in the meantime */
    }
    if (S_ISREG(status.st_mode) || S_ISLNK(status.st_mode)) {
        return add_file(walk, path, S_ISLNK(status.st_mode), err);
    }
    if (!S_ISDIR(status.st_mode) || (walk->has_output && is_same_folder(&status, &walk->output))) {
        return 0;
    }
    if (depth == FOLDERS_DEEP_MAX) {
        return error_set(err, ERROR_INVALID, "%s has folders more than %d deep", walk->folder,
                         FOLDERS_DEEP_MAX);
    }
    int fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return error_from_errno(err, errno, "%s: cannot open the folder %s", walk->folder, path);
    }
    return walk_folder(walk, fd, path, depth + 1, err);
}

/* The folder's descriptor is closed by this. */
static int walk_folder(struct walk *walk, int fd_owned, const char *path, int depth,
                       struct error *err) {
    DIR *entries = fdopendir(fd_owned);
    if (!entries) {
        int errno_value = errno;
        close(fd_owned);
        return error_from_errno(err, errno_value, "%s: cannot read the folder %s", walk->folder,
                                path);
    }
    int result = 0;
    struct dirent *entry;
    while (result == 0 && (entry = readdir(entries))) {
        AUTO(text_freep)
        char *below = *path ? file_join(path, entry->d_name) : x_strdup(entry->d_name);
        result = walk_entry(walk, dirfd(entries), below, depth, err);
    }
    closedir(entries);
    return result;
}

static int by_bytes(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int start_walk(struct walk *walk, const json_t *spec, int *ret_fd, struct error *err) {
    struct stat status;
    if (path_open(walk->folder, ret_fd, err) < 0) {
        return -1;
    }
    if (fstat(*ret_fd, &status) < 0 || !S_ISDIR(status.st_mode)) {
        return error_set(err, ERROR_INVALID, "%s: is a file, a folder is expected", walk->folder);
    }
    AUTO(text_freep) char *output = NULL;
    struct error ignored = {0};
    const char *output_path = tree_text(spec, "output.path", "");
    walk->has_output =
        path_resolve(output_path, &output, &ignored) == 0 && stat(output, &walk->output) == 0;
    if (walk->has_output && is_same_folder(&status, &walk->output)) {
        return error_set(err, ERROR_INVALID,
                         "%s: is spec.output.path, too; the results would replace the input",
                         walk->folder);
    }
    return 0;
}

int files_list_build(struct files_list *list, const json_t *spec, struct error *err) {
    *list = (struct files_list){0};
    struct walk walk = {.list = list,
                        .folder = tree_text(spec, "input.files.path", ""),
                        .pattern = tree_text(spec, "input.files.pattern", "*")};
    walk.is_whole_path = strchr(walk.pattern, '/');
    AUTO(fd_closep) int fd = -1;
    if (start_walk(&walk, spec, &fd, err) < 0 || walk_folder(&walk, dup(fd), "", 1, err) < 0) {
        files_list_release(list);
        return error_context(err, "spec.input.files.path");
    }
    if (list->count == 0) {
        int64_t skipped = list->skipped;
        files_list_release(list);
        return skipped
                   ? error_set(err, ERROR_INVALID,
                               "spec.input.files.path: %s: all %lld files that match \"%s\" are "
                               "links out of the volume, or names that are no UTF-8",
                               walk.folder, (long long)skipped, walk.pattern)
                   : error_set(err, ERROR_INVALID,
                               "spec.input.files.path: %s: no file in it matches "
                               "spec.input.files.pattern \"%s\"",
                               walk.folder, walk.pattern);
    }
    qsort(list->names, (size_t)list->count, sizeof *list->names, by_bytes);
    return 0;
}

void files_list_release(struct files_list *list) {
    for (int64_t i = 0; i < list->count; i++) {
        free(list->names[i]);
    }
    free(list->names);
    *list = (struct files_list){0};
}
