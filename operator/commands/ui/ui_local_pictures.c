// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/ui/ui_local_pictures.h"

#include "lib/digest.h"
#include "lib/file.h"
#include "lib/text/file_type.h"
#include "lib/time/clock.h"
#include "operator/commands/ui/ui_text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ENTRIES_MAX = 2000, /* of folders that are read */
    DEPTH_MAX = 4,      /* folders in the input's folder */
    BYTES_MAX = 8 << 20,
    TOKEN_DIGITS = 24,
    KEPT_MAX = 8, /* runs whose pictures are known */
    KEPT_MS = 30000,
    MISSES_MAX = 100, /* inputs without an output that is a picture, before the search ends */
};

/* ---- which there are ---- */

/* The names in a folder and in those below it. */
struct names {
    char **at; /* owned, with its texts */
    size_t count, entries;
};

static void names_release(struct names *names) {
    for (size_t i = 0; i < names->count; i++) {
        free(names->at[i]);
    }
    free(names->at);
}

static bool has_ending(const char *name) {
    const struct file_type *type = file_type_of_name(name);
    return type && type->use >= FILE_TYPE_SHOWN;
}

/* fd: of the folder, which this call closes; prefix: its name and "/", or "". */
static void walk(struct names *names, int fd, const char *prefix, int depth) {
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder) {
        fd_closep(&fd);
        return;
    }
    for (struct dirent *entry; names->entries < ENTRIES_MAX && (entry = readdir(folder));) {
        bool may_be_folder = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
        AUTO(text_freep) char *name = x_printf("%s%s", prefix, entry->d_name);
        names->entries++;
        if (*entry->d_name == '.') {
            continue;
        }
        if (has_ending(name) && entry->d_type != DT_DIR) {
            names->at = x_realloc_array(names->at, names->count + 1, sizeof *names->at);
            names->at[names->count++] = TAKE(name);
        } else if (may_be_folder && depth < DEPTH_MAX) {
            AUTO(text_freep) char *below = x_printf("%s/", name);
            walk(names,
                 openat(dirfd(folder), entry->d_name,
                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK),
                 below, depth + 1);
        }
    }
    closedir(folder);
}

/* The folder that a name is in, without following a link on the way, and the rest of the name; -1:
 * there is none. */
static int open_above(int folder, const char *name, const char **ret_last) {
    AUTO(text_freep) char *copy = x_strdup(name);
    int at = fcntl(folder, F_DUPFD_CLOEXEC, 0);
    char *part = copy;
    for (char *slash; at >= 0 && (slash = strchr(part, '/')); part = slash + 1) {
        *slash = 0;
        int next = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        close(at);
        at = next;
    }
    *ret_last = name + (part - copy);
    return at;
}

static bool is_fit(const struct stat *status) {
    return S_ISREG(status->st_mode) && status->st_size > 0 && status->st_size <= BYTES_MAX;
}

/* A regular file in the folder. It is not opened, which is a download where the folder is a
 * container of a cloud. */
static bool has_file(int folder, const char *name) {
    const char *last;
    struct stat status;
    AUTO(fd_closep) int above = open_above(folder, name, &last);
    return above >= 0 && fstatat(above, last, &status, AT_SYMLINK_NOFOLLOW) == 0 && is_fit(&status);
}

/* -1: there is none. */
static int open_in(int folder, const char *name) {
    const char *last;
    struct stat status;
    AUTO(fd_closep) int above = open_above(folder, name, &last);
    int fd = above >= 0 && has_file(above, last)
                 ? openat(above, last, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
                 : -1;
    if (fd >= 0 && (fstat(fd, &status) < 0 || !is_fit(&status))) {
        fd_closep(&fd);
    }
    return fd;
}

/* The folders of a run whose input is files. */
struct folders {
    int before, after; /* -1: it has none here */
};

static void folders_release(struct folders *folders) {
    fd_closep(&folders->before);
    fd_closep(&folders->after);
}

/* Of VOLUME/path; -1: not on this machine. */
static int open_folder(const struct run_item *item, const char *path) {
    const json_t *folders = json_object_get(item->record, "folders");
    AUTO(text_freep) char *volume = x_strndup(path, strcspn(path, "/"));
    const char *folder = json_string_value(json_object_get(folders, volume));
    AUTO(text_freep) char *whole = folder ? x_printf("%s%s", folder, path + strlen(volume)) : NULL;
    return whole ? open(whole, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK) : -1;
}

static struct folders open_folders(const struct run_item *item) {
    AUTO(tree_freep) json_t *job = run_list_job(item);
    const char *input = tree_text(job, "spec.input.files.path", NULL);
    const char *output = tree_text(job, "spec.output.path", NULL);
    struct folders folders = {-1, -1};
    if (input && output) {
        folders.before = open_folder(item, input);
        folders.after = open_folder(item, output);
    }
    return folders;
}

/* What an input has become: the same name, or with another ending, or one more. Owned; NULL:
 * nothing. */
static char *find_after(int folder, const char *name) {
    const char *dot = strrchr(name, '.');
    int stem = dot ? (int)(dot - name) : (int)strlen(name);
    char *tries[] = {x_strdup(name), x_printf("%s.png", name), x_printf("%.*s.png", stem, name),
                     x_printf("%.*s.jpg", stem, name)};
    char *found = NULL;
    for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
        if (!found && has_file(folder, tries[i])) {
            found = TAKE(tries[i]);
        }
        free(tries[i]);
    }
    return found;
}

static void make_token(char token[static TOKEN_DIGITS + 1], const char *side, const char *name) {
    char hex[65];
    AUTO(text_freep) char *place = x_printf("%s/%s", side, name);
    digest_sha256(place, strlen(place), hex);
    snprintf(token, TOKEN_DIGITS + 1, "%.*s", TOKEN_DIGITS, hex);
}

static int by_name(const void *one, const void *other) {
    return strcmp(*(char *const *)one, *(char *const *)other);
}

/* [[before, after]]: of each pair its names, which need not be UTF-8; owned. */
static json_t *find_pairs(const struct folders *folders) {
    AUTO(names_release) struct names names = {0};
    json_t *pairs = json_array();
    size_t misses = 0;
    walk(&names, openat(folders->before, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "", 0);
    if (names.count > 0) {
        qsort(names.at, names.count, sizeof *names.at, by_name);
    }
    for (size_t i = 0; i < names.count && misses < MISSES_MAX; i++) {
        AUTO(text_freep)
        char *after =
            has_file(folders->before, names.at[i]) ? find_after(folders->after, names.at[i]) : NULL;
        misses += after == NULL;
        if (after) {
            json_t *pair = json_array();
            json_array_append_new(pair, json_string_nocheck(names.at[i]));
            json_array_append_new(pair, json_string_nocheck(after));
            json_array_append_new(pairs, pair);
        }
        if (json_array_size(pairs) == UI_PICTURES_MAX) {
            break;
        }
    }
    return pairs;
}

static json_int_t changed_ns(int folder) {
    struct stat status;
    return fstat(folder, &status) == 0
               ? (json_int_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec
               : -1;
}

/* A page asks each second. As many as are shown stay for a while; fewer, while no more came into
 * one of the folders. Borrowed from `kept`. */
static const json_t *pairs_of(json_t *kept, const struct run_item *item,
                              const struct folders *folders) {
    json_int_t now_ms = clock_monotonic_ms();
    if (folders->before < 0 || folders->after < 0) {
        return NULL;
    }
    const json_t *known = json_object_get(kept, item->path);
    const json_t *pairs = json_object_get(known, "pairs");
    AUTO(tree_freep)
    json_t *changed = json_pack("[I, I]", changed_ns(folders->before), changed_ns(folders->after));
    if (now_ms < tree_integer(known, "until", 0) &&
        (json_array_size(pairs) == UI_PICTURES_MAX ||
         json_equal(changed, json_object_get(known, "changed")))) {
        return pairs;
    }
    if (json_object_size(kept) >= KEPT_MAX) {
        json_object_clear(kept);
    }
    json_object_set_new_nocheck(kept, item->path,
                                json_pack("{s:o, s:O, s:I}", "pairs", find_pairs(folders),
                                          "changed", changed, "until", now_ms + KEPT_MS));
    return json_object_get(json_object_get(kept, item->path), "pairs");
}

static const char *name_in(const json_t *pair, size_t which) {
    return json_string_value(json_array_get(pair, which));
}

json_t *ui_local_pictures(json_t *kept, const struct run_item *item) {
    AUTO(folders_release) struct folders folders = open_folders(item);
    AUTO(tree_freep) json_t *list = json_array();
    const json_t *pairs = pairs_of(kept, item, &folders);
    for (size_t i = 0; i < json_array_size(pairs); i++) {
        const json_t *pair = json_array_get(pairs, i);
        char tokens[2][TOKEN_DIGITS + 1];
        make_token(tokens[0], "before", name_in(pair, 0));
        make_token(tokens[1], "after", name_in(pair, 1));
        json_array_append_new(list, json_pack("{s:o, s:s, s:s}", "name",
                                              ui_text(name_in(pair, 0), UI_TEXT_NAME), "before",
                                              tokens[0], "after", tokens[1]));
    }
    return json_array_size(list) > 0 ? TAKE(list) : NULL;
}

/* ---- one of them ---- */

/* -1: it is not in the list. */
static int open_one(const json_t *pairs, const struct folders *folders, const char *token) {
    for (size_t i = 0; i < json_array_size(pairs); i++) {
        const json_t *pair = json_array_get(pairs, i);
        char own[TOKEN_DIGITS + 1];
        make_token(own, "before", name_in(pair, 0));
        if (strcmp(own, token) == 0) {
            return open_in(folders->before, name_in(pair, 0));
        }
        make_token(own, "after", name_in(pair, 1));
        if (strcmp(own, token) == 0) {
            return open_in(folders->after, name_in(pair, 1));
        }
    }
    return -1;
}

/* By its first bytes; NULL: none that a browser shows. */
static const char *type_of(const char *bytes, size_t size) {
    const struct file_type *type = file_type_of_bytes(bytes, size);
    return type && type->use >= FILE_TYPE_SHOWN ? type->media_type : NULL;
}

int ui_local_picture(json_t *kept, const struct run_item *item, const char *token,
                     struct ui_picture *ret_picture, struct error *err) {
    AUTO(folders_release) struct folders folders = open_folders(item);
    AUTO(fd_closep) int fd = open_one(pairs_of(kept, item, &folders), &folders, token);
    struct stat status = {0};
    bool is_there = fd >= 0 && fstat(fd, &status) == 0 && status.st_size > 0;
    size_t room = is_there ? MIN((size_t)status.st_size, BYTES_MAX) : 0;
    AUTO(text_freep) char *bytes = x_malloc(room + 1);
    ssize_t size = is_there ? pread(fd, bytes, room, 0) : -1;
    const char *type = size > 0 ? type_of(bytes, (size_t)size) : NULL;
    if (!type) {
        return error_set(err, ERROR_NOT_FOUND, "no picture of this job");
    }
    *ret_picture = (struct ui_picture){.size = (size_t)size, .type = type};
    ret_picture->bytes = TAKE(bytes);
    return 0;
}
