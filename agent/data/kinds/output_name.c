// SPDX-License-Identifier: Apache-2.0
#include "agent/data/kinds/output_name.h"

#include "agent/data/input/media.h"
#include "agent/data/parts/pack.h"
#include "agent/data/source/name_pattern.h"
#include "lib/log.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { BLOB_NAME_MAX = 1024 /* characters, the folder included */ };

/* The run's own files in the output folder. */
static const char *const ours[] = {"summary.json",     "failed.jsonl",        "report.html",
                                   "mini_batches.csv", "workers.csv",         "result.json",
                                   "outputs.jsonl",    "result.intoto.jsonl", "errors.jsonl"};

/* The run's state exists before the input is listed. */
bool output_name_is_blind(struct store *output) {
    struct store_info info, other;
    struct error ignored = {0};
    return output && store_features(output).is_local &&
           store_stat(output, ".windlass/owner", &info, &ignored) == 0 &&
           store_stat(output, ".WINDLASS/OWNER", &other, &ignored) == 0 &&
           strcmp(info.token, other.token) == 0;
}

static size_t count_characters(const char *text) {
    size_t count = 0;
    for (; *text; text++) {
        count += ((unsigned char)*text & 0xC0) != 0x80;
    }
    return count;
}

const char *output_name_added(const json_t *spec) {
    return media_result_ending(spec);
}

void output_name_init(struct output_name *names, const json_t *spec, struct store *input,
                      struct store *output) {
    const char *path = tree_text(spec, "output.path", "");
    *names = (struct output_name){
        .is_used = strcmp(tree_text(spec, "output.mode", ""), "PerFile") == 0,
        .added = output_name_added(spec),
        .is_local = store_is_local(path),
        .is_blind = output_name_is_blind(output),
        .folder_characters = count_characters(path),
        .input = input,
        .pattern = tree_text(spec, "input.files.pattern", ""),
    };
    if (names->is_used && (names->is_blind || tree_get(spec, "input.files.manifest"))) {
        names->seen = name_set_new(names->is_blind);
    }
}

void output_name_release(struct output_name *names) {
    free(TAKE(names->folder));
    free(TAKE(names->beside));
    name_set_free(TAKE(names->seen));
}

static bool is_own_file(const struct output_name *names, const char *output) {
    for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
        if ((names->is_blind ? strcasecmp : strcmp)(output, ours[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* The longest part between slashes, bytes. */
static size_t longest_part(const char *name) {
    size_t longest = 0;
    for (const char *at = name; at; at = strchr(at, '/')) {
        at += *at == '/';
        longest = MAX(longest, strcspn(at, "/"));
    }
    return longest;
}

/* Whether a folder on the way to the item has the name of another item's output. 1: *beside is that
 * item. */
static int query_folders(const struct output_name *names, const char *folder, char **ret_beside,
                         struct error *err) {
    size_t added = strlen(names->added);
    for (const char *slash = strchr(folder, '/'); slash; slash = strchr(slash + 1, '/')) {
        size_t length = (size_t)(slash - folder);
        if (length <= added || strncmp(slash - added, names->added, added) != 0 ||
            slash[-(ptrdiff_t)added - 1] == '/') {
            continue;
        }
        AUTO(text_freep) char *item = x_strndup(folder, length - added);
        struct store_info info;
        struct error cause = {0};
        if (!name_pattern_matches(names->pattern, item)) {
            continue;
        }
        if (store_stat(names->input, item, &info, &cause) == 0) {
            *ret_beside = TAKE(item);
            return 1;
        }
        if (store_error_is_machine(&cause)) {
            *err = cause;
            return -1;
        }
    }
    return 0;
}

/* Items of one folder come one after the other, so each folder is queried once. */
static int find_beside(struct output_name *names, const char *name, struct error *err) {
    const char *slash = strrchr(name, '/');
    size_t length = slash ? (size_t)(slash - name) + 1 : 0;
    if (!names->input || !*names->added || length == 0) {
        free(TAKE(names->folder));
        free(TAKE(names->beside));
        return 0;
    }
    if (!names->folder || strlen(names->folder) != length ||
        memcmp(names->folder, name, length) != 0) {
        free(TAKE(names->beside));
        free(names->folder);
        names->folder = x_strndup(name, length);
        if (query_folders(names, names->folder, &names->beside, err) < 0) {
            free(TAKE(names->folder));
            return -1;
        }
    }
    return 0;
}

enum { OUTPUT = 'o', FOLDER = 'f' }; /* of names in the set */

/* Whether an item before has this output, or needs a folder of this name, or an output with the
 * name of a folder of this one. */
static void find_collision(const struct output_name *names, const char *output,
                           char ret_why[static OUTPUT_NAME_WHY_MAX]) {
    const char *alike = names->is_blind ? "; its storage ignores the case of letters" : "";
    size_t size = strlen(output);
    if (name_set_has(names->seen, OUTPUT, output, size)) {
        snprintf(ret_why, OUTPUT_NAME_WHY_MAX,
                 "its output has the name of that of an item before it%s: %s", alike,
                 names->is_blind ? "rename one of them" : "list it once");
        return;
    }
    bool collides = name_set_has(names->seen, FOLDER, output, size);
    for (const char *slash = strchr(output, '/'); slash && !collides;
         slash = strchr(slash + 1, '/')) {
        collides = name_set_has(names->seen, OUTPUT, output, (size_t)(slash - output));
    }
    if (collides) {
        snprintf(ret_why, OUTPUT_NAME_WHY_MAX,
                 "its output or a folder of it has the name of an output or a folder of an item "
                 "before it%s: rename one of them",
                 alike);
    }
}

static void remember(struct output_name *names, const char *output) {
    bool is_added = name_set_add(names->seen, OUTPUT, output, strlen(output));
    for (const char *slash = strchr(output, '/'); slash && is_added;
         slash = strchr(slash + 1, '/')) {
        is_added = name_set_add(names->seen, FOLDER, output, (size_t)(slash - output));
    }
    if (!is_added && !names->is_full) {
        names->is_full = true;
        log_event(LOG_WARNING,
                  "more than %d names of outputs and their folders: from %.200s on, only names "
                  "that collide with earlier ones are found",
                  NAME_SET_MAX, output);
    }
}

int output_name_fits(struct output_name *names, const char *name,
                     char ret_why[static OUTPUT_NAME_WHY_MAX], struct error *err) {
    AUTO(text_freep) char *output = x_printf("%s%s", name, names->added);
    size_t longest = longest_part(output);
    size_t characters = names->folder_characters + 1 + count_characters(output);
    *ret_why = 0;
    if (!names->is_used) {
        return 1;
    }
    if (find_beside(names, name, err) < 0) {
        return -1;
    }
    if (is_own_file(names, output)) {
        snprintf(ret_why, OUTPUT_NAME_WHY_MAX,
                 "its output would be %s, which is a file of the run: rename it", output);
    } else if (pack_is_ours(output)) {
        snprintf(ret_why, OUTPUT_NAME_WHY_MAX,
                 "its output would begin with .windlass, the run's own state: rename it");
    } else if (names->is_local ? longest > NAME_MAX || strlen(output) > STORE_NAME_MAX
                               : characters > BLOB_NAME_MAX || strchr(output, '\\')) {
        snprintf(ret_why, OUTPUT_NAME_WHY_MAX,
                 names->is_local
                     ? "its output's name, with \"%s\", is longer than %d bytes: rename it"
                     : "its output's name, with \"%s\", has more than %d characters or a "
                       "backslash: rename it",
                 names->added, names->is_local ? NAME_MAX : BLOB_NAME_MAX);
    } else if (names->beside) {
        snprintf(ret_why, OUTPUT_NAME_WHY_MAX,
                 "its folder has the name of the output of %.200s: rename one of them",
                 names->beside);
    } else if (names->seen) {
        find_collision(names, output, ret_why);
        if (!*ret_why) {
            remember(names, output);
        }
    }
    return *ret_why == 0;
}
