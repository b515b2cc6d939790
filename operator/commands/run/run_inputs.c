// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/run/run_inputs.h"

#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DESCRIPTORS = 16 };

/* What ends a path within a word that a shell reads, or the part of it that is known. */
#define ENDS " \t\n\r\"'`;|&<>(){}[]*?,:$\\"

struct search {
    const json_t *spec, *within, *folders;
    json_t *own; /* paths that the job writes to, without links */
    int64_t begun_ms;
    bool is_newer;
};

/* nftw has no context. */
static const struct search *walked;

/* ---- times ---- */

static bool is_since(const struct timespec *time) {
    return (int64_t)time->tv_sec * 1000 + time->tv_nsec / 1000000 >= walked->begun_ms;
}

/* A file that was copied with its times, or moved to this place, has its old mtime. */
static bool is_changed(const struct stat *status) {
    return is_since(&status->st_mtim) || is_since(&status->st_ctim);
}

/* A folder itself was put here, and not only something into it. */
static bool is_moved(const struct stat *status) {
    return is_since(&status->st_ctim) && !is_since(&status->st_mtim);
}

/* ---- what the job writes ---- */

/* Whether a path is the folder, or below it. */
static bool is_within(const char *path, const char *folder) {
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (!path[length] || path[length] == '/');
}

static bool is_own(const char *path) {
    for (size_t i = 0; i < json_array_size(walked->own); i++) {
        if (is_within(path, json_string_value(json_array_get(walked->own, i)))) {
            return true;
        }
    }
    return false;
}

/* Below the spec, or below the part of it that has volumes. */
static const char *const own_fields[] = {"output",  "outputs",  "logs",
                                         "metrics", "register", "trainer.output"};

static bool is_own_below(const json_t *spec, const json_t *field) {
    for (size_t i = 0; i < ARRAY_LEN(own_fields); i++) {
        if (tree_get(spec, own_fields[i]) == field) {
            return true;
        }
    }
    return false;
}

/* A trainer's tensors and a model have "outputs", too: paths of labels, which are read, and names,
 * which are not paths. */
static bool is_name(const char *member, const json_t *field) {
    bool is_text = json_is_string(field) || json_is_string(json_array_get(field, 0));
    return is_text && (strcmp(member, "output") == 0 || strcmp(member, "outputs") == 0);
}

static bool is_read(const struct search *search, const char *member, const json_t *field) {
    return !is_own_below(search->spec, field) && !is_own_below(search->within, field) &&
           !is_name(member, field) && strcmp(member, "volumes") != 0;
}

char *run_inputs_path(const char *text, const json_t *folders) {
    size_t length = strcspn(text, "/");
    AUTO(text_freep) char *volume = x_strndup(text, length);
    const char *folder = json_string_value(json_object_get(folders, volume));
    return folder ? x_printf("%s%s", folder, text + length) : NULL;
}

/* A whole volume is not its own: others write there, too. */
static void add_own(struct search *search, const json_t *tree) {
    const char *name;
    json_t *child;
    if (json_is_string(tree)) {
        const char *text = json_string_value(tree);
        AUTO(text_freep) char *path = run_inputs_path(text, search->folders);
        AUTO(text_freep) char *real = path && strchr(text, '/') ? realpath(path, NULL) : NULL;
        json_array_append_new(search->own, real ? json_string(real) : NULL);
    }
    for (size_t i = 0; i < json_array_size(tree); i++) {
        add_own(search, json_array_get(tree, i));
    }
    json_object_foreach((json_t *)tree, name, child) {
        add_own(search, child);
    }
}

static void find_own(struct search *search, const json_t *spec) {
    for (size_t i = 0; i < ARRAY_LEN(own_fields); i++) {
        add_own(search, tree_get(spec, own_fields[i]));
    }
}

/* ---- one path ---- */

/* status: of what a link leads to; the link itself may have been changed, too. */
static int look_at(const char *path, const struct stat *status, int type, struct FTW *place) {
    struct stat link;
    if (type == FTW_D && place->level > 0 && is_own(path)) {
        return FTW_SKIP_SUBTREE;
    }
    return type == FTW_NS || is_changed(status) || (lstat(path, &link) == 0 && is_changed(&link))
               ? FTW_STOP
               : FTW_CONTINUE;
}

/* Whether a link or folder on the way from the volume to the path was put there. */
static bool is_way_changed(const char *path, size_t volume_size) {
    AUTO(text_freep) char *part = x_strdup(path);
    for (size_t at = volume_size; part[at]; at += 1 + strcspn(part + at + 1, "/")) {
        struct stat status;
        part[at] = 0;
        bool is_there = lstat(part, &status) == 0;
        if (is_there && (S_ISLNK(status.st_mode) ? is_changed(&status) : is_moved(&status))) {
            return true;
        }
        part[at] = path[at];
    }
    return false;
}

/* A walk that fails counts as a change. */
static bool is_newer_below(const char *path, size_t volume_size) {
    AUTO(text_freep) char *real = realpath(path, NULL);
    struct stat link;
    return is_way_changed(path, volume_size) || !real ||
           (lstat(path, &link) == 0 && S_ISLNK(link.st_mode) && is_changed(&link)) ||
           nftw(real, look_at, DESCRIPTORS, FTW_ACTIONRETVAL) != 0;
}

/* ---- what the spec names ---- */

/* A path of the spec; the job's own are left out only below it. */
static void look_at_path(struct search *search, const char *text) {
    AUTO(text_freep) char *path = run_inputs_path(text, search->folders);
    if (path && access(path, F_OK) == 0) {
        search->is_newer = is_newer_below(path, strlen(path) - strlen(text + strcspn(text, "/")));
    }
}

/* Shortens the path to what is there. False: not even something in the volume. */
static bool cut_to_existing(char *path, size_t volume_size) {
    while (access(path, F_OK) != 0) {
        char *slash = strrchr(path, '/');
        if (!slash || (size_t)(slash - path) <= volume_size) {
            return false;
        }
        *slash = 0;
    }
    return true;
}

static bool is_in_own(const char *path) {
    AUTO(text_freep) char *real = realpath(path, NULL);
    return real && is_own(real);
}

/* rest: behind $(VOLUME). The whole volume counts where it is all that an argument names, but not
 * for a script that only begins there. */
static void look_at_mention(struct search *search, const char *folder, const char *rest,
                            bool is_script) {
    size_t volume_size = strlen(folder);
    AUTO(text_freep) char *whole = x_printf("%s%s", folder, rest);
    if (access(whole, F_OK) != 0) {
        whole[volume_size + strcspn(rest, ENDS)] = 0;
    }
    bool is_bare = strspn(whole + volume_size, "/") == strlen(whole + volume_size);
    if ((is_bare && is_script) || (*rest && !strchr("/" ENDS, *rest)) ||
        !cut_to_existing(whole, volume_size) || (!is_bare && is_in_own(whole))) {
        return;
    }
    search->is_newer = is_newer_below(whole, volume_size);
}

static void look_at_word(struct search *search, const char *text) {
    bool is_script = text[strcspn(text, " \t\n")];
    for (const char *at = text; !search->is_newer && (at = strstr(at, "$(")); at += 2) {
        size_t length = strcspn(at + 2, ")");
        AUTO(text_freep) char *volume = x_strndup(at + 2, length);
        const char *folder = json_string_value(json_object_get(search->folders, volume));
        bool is_escaped = at > text && at[-1] == '$';
        if (folder && at[2 + length] && !is_escaped) {
            look_at_mention(search, folder, at + 2 + length + 1, is_script);
        }
    }
}

static void look_at_tree(struct search *search, const json_t *tree) {
    const char *name;
    json_t *child;
    if (json_is_string(tree)) {
        look_at_path(search, json_string_value(tree));
        look_at_word(search, json_string_value(tree));
    }
    for (size_t i = 0; !search->is_newer && i < json_array_size(tree); i++) {
        look_at_tree(search, json_array_get(tree, i));
    }
    json_object_foreach((json_t *)tree, name, child) {
        if (!search->is_newer && is_read(search, name, child)) {
            look_at_tree(search, child);
        }
    }
}

bool run_inputs_are_newer(const json_t *spec, const json_t *within, const json_t *folders,
                          int64_t begun_ms) {
    AUTO(tree_freep) json_t *own = json_array();
    struct search search = {
        .spec = spec, .within = within, .folders = folders, .own = own, .begun_ms = begun_ms};
    walked = &search;
    find_own(&search, spec);
    find_own(&search, within);
    look_at_tree(&search, spec);
    walked = NULL;
    return search.is_newer;
}
