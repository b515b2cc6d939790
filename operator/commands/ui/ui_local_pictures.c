// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/ui/ui_local_pictures.h"

#include "lib/digest.h"
#include "lib/file.h"
#include "operator/commands/ui/ui_text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ENTRIES_MAX = 2000, /* of folders that are read */
    DEPTH_MAX = 4,      /* folders in the input's folder */
    BYTES_MAX = 8 << 20,
    TOKEN_DIGITS = 24,
    SNIFF_BYTES = 12,
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
    static const char *const endings[] = {".jpg", ".jpeg", ".png", ".webp", ".gif"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < ARRAY_LEN(endings); i++) {
        if (strcasecmp(dot, endings[i]) == 0) {
            return true;
        }
    }
    return false;
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

/* A regular file in the folder, without following a link on the way; -1: there is none. */
static int open_in(int folder, const char *name) {
    AUTO(text_freep) char *copy = x_strdup(name);
    AUTO(fd_closep) int at = fcntl(folder, F_DUPFD_CLOEXEC, 0);
    struct stat status;
    for (char *part, *rest = copy; at >= 0 && (part = strsep(&rest, "/"));) {
        int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (rest ? O_DIRECTORY : 0);
        int next = openat(at, part, flags);
        close(at);
        at = next;
    }
    bool is_fit = at >= 0 && fstat(at, &status) == 0 && S_ISREG(status.st_mode) &&
                  status.st_size > 0 && status.st_size <= BYTES_MAX;
    int found = is_fit ? at : -1;
    at = is_fit ? -1 : at; /* the caller's from now on */
    return found;
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
        AUTO(fd_closep) int fd = found ? -1 : open_in(folder, tries[i]);
        if (fd >= 0) {
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

/* Calls for each pair until the call returns true. */
struct search {
    bool (*each)(struct search *search, const char *before, const char *after);
    json_t *list;                 /* what it makes */
    const char *token;            /* what it looks for */
    const struct folders *opened; /* where */
    int found;                    /* -1: not found */
};

static void visit(const struct folders *folders, struct search *search) {
    AUTO(names_release) struct names names = {0};
    size_t pairs = 0, misses = 0;
    if (folders->before < 0 || folders->after < 0) {
        return;
    }
    walk(&names, openat(folders->before, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "", 0);
    if (names.count > 0) {
        qsort(names.at, names.count, sizeof *names.at, by_name);
    }
    for (size_t i = 0; i < names.count && pairs < UI_PICTURES_MAX && misses < MISSES_MAX; i++) {
        AUTO(fd_closep) int before = open_in(folders->before, names.at[i]);
        AUTO(text_freep) char *after = before < 0 ? NULL : find_after(folders->after, names.at[i]);
        if (after && search->each(search, names.at[i], after)) {
            return;
        }
        pairs += after != NULL;
        misses += after == NULL;
    }
}

static bool add_pair(struct search *search, const char *before, const char *after) {
    char tokens[2][TOKEN_DIGITS + 1];
    make_token(tokens[0], "before", before);
    make_token(tokens[1], "after", after);
    json_array_append_new(search->list,
                          json_pack("{s:o, s:s, s:s}", "name", ui_text(before, UI_TEXT_NAME),
                                    "before", tokens[0], "after", tokens[1]));
    return false;
}

json_t *ui_local_pictures(const struct run_item *item) {
    AUTO(folders_release) struct folders folders = open_folders(item);
    AUTO(tree_freep) json_t *list = json_array();
    struct search search = {.each = add_pair, .list = list};
    visit(&folders, &search);
    return json_array_size(list) > 0 ? TAKE(list) : NULL;
}

/* ---- one of them ---- */

static bool find_one(struct search *search, const char *before, const char *after) {
    char token[TOKEN_DIGITS + 1];
    make_token(token, "before", before);
    if (strcmp(token, search->token) == 0) {
        search->found = open_in(search->opened->before, before);
        return true;
    }
    make_token(token, "after", after);
    if (strcmp(token, search->token) == 0) {
        search->found = open_in(search->opened->after, after);
        return true;
    }
    return false;
}

/* By its first bytes, as browsers know it; NULL: none that is shown. A name proves nothing. */
static const char *type_of(const char *bytes, size_t size) {
    if (size < SNIFF_BYTES) {
        return NULL;
    }
    return memcmp(bytes, "\xFF\xD8\xFF", 3) == 0                                ? "image/jpeg"
           : memcmp(bytes, "\x89PNG\r\n\x1A\n", 8) == 0                         ? "image/png"
           : memcmp(bytes, "GIF8", 4) == 0                                      ? "image/gif"
           : memcmp(bytes, "RIFF", 4) == 0 && memcmp(bytes + 8, "WEBP", 4) == 0 ? "image/webp"
                                                                                : NULL;
}

int ui_local_picture(const struct run_item *item, const char *token, struct ui_picture *ret_picture,
                     struct error *err) {
    AUTO(folders_release) struct folders folders = open_folders(item);
    struct search search = {.each = find_one, .token = token, .opened = &folders, .found = -1};
    visit(&folders, &search);
    AUTO(fd_closep) int fd = search.found;
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
