// SPDX-License-Identifier: Apache-2.0
/* A folder's names in order without holding them all: each pass over the folder keeps the smallest
 * names after the last one reported, as many as fit, and drops the others. A million names of a
 * dozen bytes take two passes. A folder's key is its name with the slash, so that reporting its
 * content at the key's position gives the order of complete names. */
#include "agent/store/path.h"
#include "agent/store/path_folder.h"
#include "lib/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Memory for names: each folder on the way down gets half of the rest. */
enum { BUDGET_BYTES = 16 << 20, BUDGET_BYTES_MIN = 64 << 10 };

struct listing {
    const struct store *store;
    bool wants_infos, wants_all; /* all: also what is left out */
    const char *after;           /* of the caller; NULL: all */
    store_each *each;
    void *context;
    char beyond[STORE_NAME_MAX + 1]; /* the last name that was cut */
};

enum key_kind { KEY_PLAIN, KEY_LINK, KEY_LEFT_OUT };

/* Contiguous keys, each with its NUL and a byte, its enum key_kind. */
struct keys {
    char *bytes;
    size_t size, room, budget;
    uint32_t *starts;
    size_t count, starts_room;
    char *cutoff; /* NULL: none was dropped; otherwise this key and all larger ones were */
};

static void keys_release(struct keys *keys) {
    free(keys->bytes);
    free(keys->starts);
    free(keys->cutoff);
}

static int by_bytes(const void *a, const void *b, void *bytes) {
    return strcmp((char *)bytes + *(const uint32_t *)a, (char *)bytes + *(const uint32_t *)b);
}

static int by_place(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

/* Drops the upper half. The keys move down in their own buffer: a second one would double it. */
static void keys_halve(struct keys *keys) {
    qsort_r(keys->starts, keys->count, sizeof *keys->starts, by_bytes, keys->bytes);
    size_t kept = MAX(keys->count / 2, (size_t)1);
    if (kept == keys->count) {
        return;
    }
    free(keys->cutoff);
    keys->cutoff = x_strdup(keys->bytes + keys->starts[kept]);
    qsort(keys->starts, kept, sizeof *keys->starts, by_place);
    size_t size = 0;
    for (size_t i = 0; i < kept; i++) {
        size_t length = strlen(keys->bytes + keys->starts[i]) + 2;
        memmove(keys->bytes + size, keys->bytes + keys->starts[i], length);
        keys->starts[i] = (uint32_t)size;
        size += length;
    }
    keys->size = size;
    keys->count = kept;
}

static void keys_add(struct keys *keys, const char *key, enum key_kind kind) {
    size_t length = strlen(key) + 1;
    if (keys->cutoff && strcmp(key, keys->cutoff) >= 0) {
        return;
    }
    if (keys->size + length + 1 > keys->room) {
        keys->room = MAX(keys->room * 2, 4096);
        keys->bytes = x_realloc(keys->bytes, keys->room);
    }
    if (keys->count == keys->starts_room) {
        keys->starts_room = MAX(keys->starts_room * 2, 256);
        keys->starts = x_realloc_array(keys->starts, keys->starts_room, sizeof *keys->starts);
    }
    memcpy(keys->bytes + keys->size, key, length);
    keys->starts[keys->count++] = (uint32_t)keys->size;
    keys->bytes[keys->size + length] = (char)kind;
    keys->size += length + 1;
    if (keys->size + keys->count * sizeof *keys->starts > keys->budget) {
        keys_halve(keys);
    }
}

/* Names that no caller wants: the folder itself and its parent, and ours. */
static bool is_unwanted(const char *name) {
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || text_starts(name, ".windlass");
}

/* The type of an entry, DT_UNKNOWN for one that has gone. -1 with errno: file systems that do not
 * know types may fail here, and an entry must not be missed for that. */
static int type_of(int folder_fd, const struct dirent *entry) {
    struct stat status;
    if (entry->d_type != DT_UNKNOWN) {
        return entry->d_type;
    }
    if (fstatat(folder_fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
        return errno == ENOENT ? DT_UNKNOWN : -1;
    }
    return IFTODT(status.st_mode);
}

/* "name", "name/" for a folder, or "" for a name that has gone or is not wanted. What is hidden or
 * not a file is left out. -1 with errno. */
static int key_of(int folder_fd, const struct dirent *entry, char *key, size_t room) {
    key[0] = 0;
    size_t length = strlen(entry->d_name);
    if (is_unwanted(entry->d_name) || length + 2 > room) {
        return KEY_LEFT_OUT;
    }
    int type = type_of(folder_fd, entry);
    if (type < 0 || type == DT_UNKNOWN) {
        return type < 0 ? -1 : KEY_LEFT_OUT;
    }
    memcpy(key, entry->d_name, length + 1);
    memcpy(key + length, type == DT_DIR ? "/" : "", type == DT_DIR ? 2 : 1);
    bool is_file = type == DT_REG || type == DT_LNK || type == DT_DIR;
    return key[0] == '.' || !is_file ? KEY_LEFT_OUT : type == DT_LNK ? KEY_LINK : KEY_PLAIN;
}

/* from: the part of `after` that is in this folder, or "". A folder that contains it is visited.
 */
static bool is_behind(const char *key, const char *from) {
    return strcmp(key, from) > 0 || (text_ends(key, "/") && text_starts(from, key));
}

/* Reads the smallest keys after `told` (the last key of the pass before, "" at first), in order. */
static int read_pass(const struct listing *listing, struct keys *keys, DIR *entries,
                     const char *from, const char *told) {
    char key[NAME_MAX + 2];
    keys->size = keys->count = 0;
    free(TAKE(keys->cutoff));
    rewinddir(entries);
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(entries);
        if (!entry) {
            break;
        }
        int kind = key_of(dirfd(entries), entry, key, sizeof key);
        if (kind < 0) {
            return -1;
        }
        if (key[0] && (kind != KEY_LEFT_OUT || listing->wants_all) && strcmp(key, told) > 0 &&
            is_behind(key, from)) {
            keys_add(keys, key, (enum key_kind)kind);
        }
    }
    if (errno) {
        return -1;
    }
    if (keys->count) {
        qsort_r(keys->starts, keys->count, sizeof *keys->starts, by_bytes, keys->bytes);
    }
    return 0;
}

/* A file whose name is too long, or a folder below which all names have too many parts. */
static int pass_beyond(struct listing *listing, const char *name, struct error *err) {
    struct error why = {0};
    bool is_long = strlen(name) > STORE_NAME_MAX;
    AUTO(text_freep) char *cut = x_strndup(name, store_shown_size(name));
    if (strcmp(cut, listing->beyond) == 0 || (listing->after && strcmp(cut, listing->after) <= 0)) {
        return 0;
    }
    snprintf(listing->beyond, sizeof listing->beyond, "%s", cut);
    (void)!error_set(
        &why, ERROR_INVALID,
        is_long ? "%.300s/%.80s...: a name that begins so is longer than %d bytes"
                : "%.300s/%.80s...: what is in this folder has names of more than %d parts",
        listing->store->path, cut, is_long ? STORE_NAME_MAX : STORE_DEPTH_MAX);
    const struct store_info info = {.fault = why.text, .is_beyond = true};
    return listing->each(listing->context, cut, &info, err);
}

/* Whether a key is a file, or a folder in which something is not left out. One that cannot be read
 * may have such. */
static bool has_content(int folder_fd, const char *key) {
    char inner[NAME_MAX + 2];
    size_t length = strlen(key);
    if (key[length - 1] != '/') {
        return true;
    }
    AUTO(text_freep) char *name = x_strndup(key, length - 1);
    int fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    if (!entries) {
        bool is_gone = fd < 0 && errno == ENOENT;
        fd_closep(&fd);
        return !is_gone;
    }
    int kind = KEY_LEFT_OUT;
    errno = 0;
    for (const struct dirent *entry; kind == KEY_LEFT_OUT && (entry = readdir(entries));) {
        kind = key_of(fd, entry, inner, sizeof inner);
        errno = 0;
    }
    bool has_failed = errno != 0;
    closedir(entries);
    return has_failed || kind != KEY_LEFT_OUT;
}

static int pass_left_out(const struct listing *listing, const char *name, struct error *err) {
    size_t length = strlen(name);
    const struct store_info info = {.is_left_out = true, .is_folder = name[length - 1] == '/'};
    return listing->wants_all ? listing->each(listing->context, name, &info, err) : 0;
}

/* A link to a folder is not followed, and nothing is missed if that folder is listed, too. */
static int pass_folder_link(const struct listing *listing, const char *name, const char *spec_path,
                            struct error *err) {
    AUTO(text_freep) char *top = NULL;
    AUTO(text_freep) char *folder = NULL;
    struct error why = {0};
    if (path_resolve(listing->store->path, &top, &why) == 0 &&
        path_resolve(spec_path, &folder, &why) == 0 && text_starts(folder, top) &&
        strchr("/", folder[strlen(top)]) && !strstr(folder + strlen(top), "/.")) {
        return 0;
    }
    error_clear(&why);
    (void)!error_set(&why, ERROR_INVALID,
                     "%s: it is a link to a folder, and such links are not followed", spec_path);
    const struct store_info link = {.fault = why.text, .is_folder = true};
    return listing->each(listing->context, name, &link, err);
}

/* A link counts if it points to a file of the volume; one that cannot be followed is passed on with
 * its fault. Like store_each. */
static int pass_link(const struct listing *listing, const char *name, struct error *err) {
    AUTO(text_freep) char *spec_path = file_join(listing->store->path, name);
    AUTO(fd_closep) int fd = -1;
    struct error why = {0};
    struct stat status = {0};
    struct store_info info = {0};
    if (path_open(spec_path, &fd, &why) == 0) {
        if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
            return pass_folder_link(listing, name, spec_path, err);
        }
        if (!S_ISREG(status.st_mode)) {
            return pass_left_out(listing, name, err);
        }
        path_folder_info(listing->store, &status, &info);
        return listing->each(listing->context, name, listing->wants_infos ? &info : NULL, err);
    }
    if (why.kind != ERROR_NOT_FOUND && why.kind != ERROR_DENIED && why.kind != ERROR_INVALID) {
        *err = why;
        return -1;
    }
    info.fault = why.text;
    return listing->each(listing->context, name, &info, err);
}

/* Fills in *ret_info of a regular file; only its open folder is queried. */
static int stat_entry(const struct listing *listing, int folder_fd, const char *folder,
                      const char *key, struct store_info *ret_info, struct error *err) {
    struct stat status;
    if (!listing->wants_infos) {
        return 1;
    }
    if (fstatat(folder_fd, key, &status, AT_SYMLINK_NOFOLLOW) < 0) {
        return errno == ENOENT
                   ? 0
                   : error_from_errno(err, errno, "%s/%s%s", listing->store->path, folder, key);
    }
    path_folder_info(listing->store, &status, ret_info);
    return S_ISREG(status.st_mode);
}

/* A folder to list. */
struct level {
    int fd;
    const char *folder; /* its name: "" or with a slash at its end */
    const char *from;   /* below it, only names after this one are listed */
    size_t budget;      /* bytes of memory */
    int depth;          /* parts of the names in it; 1: the store's own folder */
};

static int list_folder(struct listing *listing, const struct level *level, struct error *err);

/* Lists an entry of a folder. 0: continue; 1: stop; -1. key: from read_pass. */
static int list_entry(struct listing *listing, const struct level *level, const char *key,
                      struct error *err) {
    AUTO(text_freep) char *name = x_printf("%s%s", level->folder, key);
    size_t length = strlen(key);
    bool is_too_deep = level->depth == STORE_DEPTH_MAX && key[length - 1] == '/';
    bool is_hidden = key[length + 1] == KEY_LEFT_OUT;
    bool is_beyond = strlen(name) > STORE_NAME_MAX || is_too_deep;
    if (!is_hidden && is_beyond && !has_content(level->fd, key)) {
        return 0;
    }
    if (!is_hidden && is_beyond) {
        return pass_beyond(listing, name, err);
    }
    if (is_hidden) {
        return pass_left_out(listing, name, err);
    }
    if (key[length - 1] != '/') {
        struct store_info info = {0};
        if (key[length + 1] == KEY_LINK) {
            return pass_link(listing, name, err);
        }
        int is_file = stat_entry(listing, level->fd, level->folder, key, &info, err);
        return is_file > 0
                   ? listing->each(listing->context, name, listing->wants_infos ? &info : NULL, err)
                   : is_file;
    }
    AUTO(text_freep) char *last = x_strndup(key, length - 1);
    int fd = openat(level->fd, last, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        bool is_gone = errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
        return is_gone ? 0
                       : error_from_errno(err, errno, "%s/%s: cannot open the folder",
                                          listing->store->path, name);
    }
    const struct level below = {
        .fd = fd,
        .folder = name,
        .from = text_starts(level->from, key) ? level->from + length : "",
        .budget = MAX(level->budget / 2, (size_t)BUDGET_BYTES_MIN),
        .depth = level->depth + 1,
    };
    return list_folder(listing, &below, err);
}

/* Closes the level's descriptor. */
static int list_folder(struct listing *listing, const struct level *level, struct error *err) {
    DIR *entries = fdopendir(level->fd);
    if (!entries) {
        int errno_value = errno;
        close(level->fd);
        return error_from_errno(err, errno_value, "%s/%s", listing->store->path, level->folder);
    }
    AUTO(keys_release) struct keys keys = {.budget = level->budget / 2};
    AUTO(text_freep) char *listed = x_strdup("");
    int result = 0;
    do {
        if (read_pass(listing, &keys, entries, level->from, listed) < 0) {
            result = error_from_errno(err, errno, "%s/%s: cannot read the folder",
                                      listing->store->path, level->folder);
        }
        for (size_t i = 0; result == 0 && i < keys.count; i++) {
            result = list_entry(listing, level, keys.bytes + keys.starts[i], err);
        }
        if (keys.count) {
            free(listed);
            listed = x_strdup(keys.bytes + keys.starts[keys.count - 1]);
        }
    } while (result == 0 && keys.cutoff);
    closedir(entries);
    return result;
}

static int list_below(struct listing *listing, const char *prefix, const char *after,
                      struct error *err) {
    const struct store *store = listing->store;
    AUTO(text_freep) char *folder = x_strndup(prefix, strlen(prefix) - (*prefix != 0));
    AUTO(text_freep)
    char *spec_path = *folder ? file_join(store->path, folder) : x_strdup(store->path);
    int fd = -1;
    struct stat status;
    struct error missing = {0};
    if (after && !text_starts(after, prefix) && strcmp(after, prefix) > 0) {
        return 0; /* all names below prefix come before it */
    }
    if (path_open(spec_path, &fd, &missing) < 0) {
        if (missing.kind == ERROR_NOT_FOUND) {
            return 0;
        }
        *err = missing;
        return -1;
    }
    if (fstat(fd, &status) < 0 || !S_ISDIR(status.st_mode)) {
        close(fd);
        return 0; /* a file has nothing below it */
    }
    listing->after = after;
    const char *from = after && text_starts(after, prefix) ? after + strlen(prefix) : "";
    int depth = 1;
    for (const char *at = prefix; *at; at++) {
        depth += *at == '/';
    }
    const struct level top = {fd, prefix, from, BUDGET_BYTES, depth};
    return list_folder(listing, &top, err) < 0 ? -1 : 0;
}

int path_folder_list(struct store *store, const char *prefix, const char *after, store_each *each,
                     void *context, struct error *err) {
    struct listing listing = {.store = store, .each = each, .context = context};
    return list_below(&listing, prefix, after, err);
}

int path_folder_list_infos(struct store *store, const char *prefix, const char *after,
                           store_each *each, void *context, struct error *err) {
    struct listing listing = {
        .store = store, .wants_infos = true, .each = each, .context = context};
    return list_below(&listing, prefix, after, err);
}

int path_folder_list_all(struct store *store, const char *prefix, const char *after,
                         store_each *each, void *context, struct error *err) {
    struct listing listing = {
        .store = store, .wants_infos = true, .wants_all = true, .each = each, .context = context};
    return list_below(&listing, prefix, after, err);
}

bool path_has_file(const char *spec_path, bool (*passes)(void *context, const char *name),
                   void *context) {
    struct error ignored = {0};
    int fd = -1;
    DIR *folder = path_open(spec_path, &fd, &ignored) == 0 ? fdopendir(fd) : NULL;
    bool is_found = false;
    if (!folder) {
        fd_closep(&fd);
        return false;
    }
    for (const struct dirent *entry; !is_found && (entry = readdir(folder));) {
        is_found =
            entry->d_type == DT_REG && entry->d_name[0] != '.' && passes(context, entry->d_name);
    }
    closedir(folder);
    return is_found;
}
