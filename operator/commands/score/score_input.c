// SPDX-License-Identifier: Apache-2.0
/* Counts files by the endings of their names, and chooses those that the network takes. */
#include "operator/commands/score/score_input.h"

#include "lib/file.h"
#include "lib/text/picture_name.h"

#include <errno.h>
#include <fnmatch.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { LIST_MAX = 6 /* endings in a message */ };

static const struct score_ending {
    const char *name;
    enum kind_form form;
    const char *table_format;
} endings[] = {
    {"mp4", KIND_FILM, NULL},
    {"m4v", KIND_FILM, NULL},
    {"mov", KIND_FILM, NULL},
    {"mkv", KIND_FILM, NULL},
    {"webm", KIND_FILM, NULL},
    {"avi", KIND_FILM, NULL},
    {"nut", KIND_FILM, NULL},
    {"csv", KIND_TABLE, "CSV"},
    {"tsv", KIND_TABLE, "TSV"},
    {"jsonl", KIND_TABLE, "JSONLines"},
    {"ndjson", KIND_TABLE, "JSONLines"},
    {"parquet", KIND_TABLE, "Parquet"},
    {"txt", KIND_TEXTS, NULL},
    {"npy", KIND_ARRAYS, NULL},
};
static const struct score_ending picture = {"", KIND_PICTURES, NULL}; /* picture_name.h */

/* What a network takes of these. */
static const struct {
    const char *items, *what;
    bool takes[KIND_ARRAYS + 1];
} takers[] = {
    {"picture",
     "pictures (.jpg, .png), a video or arrays (.npy)",
     {[KIND_PICTURES] = true, [KIND_FILM] = true, [KIND_ARRAYS] = true}},
    {"tokens",
     "texts: a table (.csv, .tsv, .jsonl, .parquet) or files (.txt)",
     {[KIND_TABLE] = true, [KIND_TEXTS] = true}},
    {"columns",
     "a table (.csv, .tsv, .jsonl, .parquet) or arrays (.npy)",
     {[KIND_TABLE] = true, [KIND_ARRAYS] = true}},
    {"array", "arrays (.npy)", {[KIND_ARRAYS] = true}},
};

static const char *ending_of(const char *name) {
    const char *dot = strrchr(file_basename(name), '.');
    return dot ? dot + 1 : "";
}

static const struct score_ending *find_ending(const char *ending) {
    if (picture_name_is_ending(ending)) {
        return &picture;
    }
    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        if (strcasecmp(endings[i].name, ending) == 0) {
            return &endings[i];
        }
    }
    return NULL;
}

/* The endings of what is there: {"jpg": 20}; and one path of each. */
struct census {
    json_t *counts, *firsts;
    int64_t total;
};

static void census_release(struct census *census) {
    json_decref(census->counts);
    json_decref(census->firsts);
}

static void count_file(struct census *census, const char *path) {
    const char *ending = ending_of(path);
    int64_t before = json_integer_value(json_object_get(census->counts, ending));
    json_object_set_new(census->counts, ending, json_integer(before + 1));
    if (before == 0) {
        json_object_set_new(census->firsts, ending, json_string(path));
    }
    census->total++;
}

static int by_name(const FTSENT **one, const FTSENT **other) {
    return strcmp((*one)->fts_name, (*other)->fts_name);
}

/* Files of a folder and its subfolders, without names that begin with a dot, as an input has them.
 */
static int count_folder(const char *folder, const char *pattern, struct census *census,
                        struct error *err) {
    char *roots[] = {(char *)(uintptr_t)folder, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    if (!walk) {
        return error_from_errno(err, errno, "cannot list %s", folder);
    }
    for (FTSENT *entry = fts_read(walk); entry; entry = fts_read(walk)) {
        bool is_hidden = entry->fts_level > 0 && entry->fts_name[0] == '.';
        if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || entry->fts_info == FTS_NS) {
            error_from_errno(err, entry->fts_errno, "cannot list %s", entry->fts_path);
            fts_close(walk);
            return -1;
        }
        bool is_file =
            entry->fts_info == FTS_F || entry->fts_info == FTS_SL || entry->fts_info == FTS_SLNONE;
        if (is_hidden && entry->fts_info == FTS_D) {
            fts_set(walk, entry, FTS_SKIP);
        } else if (is_file && !is_hidden &&
                   (!pattern || fnmatch(pattern, entry->fts_name, FNM_PERIOD) == 0)) {
            count_file(census, entry->fts_path);
        }
    }
    fts_close(walk);
    return 0;
}

/* "20 .jpg, 3 .txt"; owned. */
static char *show(const struct census *census) {
    char *all = x_strdup("");
    const char *ending;
    json_t *count;
    int shown = 0;
    json_object_foreach(census->counts, ending, count) {
        AUTO(text_freep) char *before = all;
        all = shown < LIST_MAX
                  ? x_printf("%s%s%lld %s%s", before, shown ? ", " : "",
                             (long long)json_integer_value(count), *ending ? "." : "others", ending)
                  : x_strdup(before);
        shown++;
    }
    return all;
}

/* ---- which of them ----------------------------------------------------------------------------
 */

/* The kinds of files among them that the network takes. */
struct choice {
    const struct score_ending *ending;
    const char *spelled; /* the ending as the files have it */
    int forms, endings;
    int64_t count;
};

static struct choice choose(const struct census *census, const bool *takes) {
    struct choice choice = {0};
    const char *ending;
    json_t *count;
    json_object_foreach(census->counts, ending, count) {
        const struct score_ending *row = find_ending(ending);
        if (row && takes[row->form]) {
            bool is_other = choice.ending && (choice.ending->form != row->form ||
                                              choice.ending->table_format != row->table_format);
            choice.forms += !choice.ending || is_other;
            choice.endings++;
            choice.ending = choice.ending ? choice.ending : row;
            choice.spelled = choice.spelled ? choice.spelled : ending;
            choice.count += json_integer_value(count);
        }
    }
    return choice;
}

/* Shortens a folder until the path is below it. */
static void shorten(char *folder, const char *path) {
    size_t length = strlen(folder);
    while (length > 1 && (strncmp(folder, path, length) != 0 || path[length] != '/')) {
        char *slash = strrchr(folder, '/');
        slash[slash == folder] = 0;
        length = strlen(folder);
    }
}

/* The folder in which all files are, and their names in it. */
static int find_names(const char *const *paths, size_t count, struct score_input *input,
                      struct error *err) {
    AUTO(tree_freep) json_t *files = json_array();
    for (size_t i = 0; i < count; i++) {
        AUTO(text_freep) char *found = realpath(paths[i], NULL);
        if (!found || access(found, R_OK) < 0) {
            return error_set(err, ERROR_INVALID, "%s: %m", paths[i]);
        }
        if (json_array_append_new(files, json_string(found)) < 0 || strchr(found, '\n')) {
            return error_set(err, ERROR_INVALID, "%s: a name must be a line of UTF-8", paths[i]);
        }
        if (!input->path) {
            const char *base = file_basename(found);
            input->path = x_strndup(found, base - found > 1 ? (size_t)(base - found) - 1 : 1);
        }
        shorten(input->path, found);
    }
    size_t length = strlen(input->path), i;
    json_t *file;
    input->names = json_array();
    json_array_foreach(files, i, file) {
        const char *below = json_string_value(file) + length;
        json_array_append_new(input->names, json_string(below + (*below == '/')));
    }
    input->first = x_strdup(json_string_value(json_array_get(files, 0)));
    return 0;
}

static const bool *takes_of(const char *items, const char **ret_what) {
    size_t i = 0;
    while (i + 1 < ARRAY_LEN(takers) && strcmp(takers[i].items, items) != 0) {
        i++;
    }
    *ret_what = takers[i].what;
    return takers[i].takes;
}

/* A pattern that separates the chosen files from the others. */
static int find_pattern(const struct census *there, const struct choice *choice, const char *shown,
                        struct score_input *input, struct error *err) {
    AUTO(text_freep) char *list = show(there);
    if (choice->count == there->total) {
        return 0;
    }
    if (choice->endings == 1) {
        input->pattern = x_printf("*.%s", choice->spelled);
        return 0;
    }
    return error_set(err, ERROR_INVALID, "%s contains %s: choose one, as with --pattern '*.%s'",
                     shown, list, choice->spelled);
}

static int refuse(const struct choice *choice, const struct census *census, const char *shown,
                  const char *what, struct error *err) {
    AUTO(text_freep) char *list = show(census);
    if (!choice->ending) {
        return error_set(err, ERROR_INVALID, "%s: %s%s; the network takes %s", shown,
                         census->total ? "it has " : "no files in it", list, what);
    }
    return error_set(err, ERROR_INVALID, "%s contains %s: choose one, as with --pattern '*.%s'",
                     shown, list, choice->spelled);
}

/* Of a folder, or of all files that were given. */
static int choose_all(const struct census *given, const char *items, const char *shown,
                      struct choice *ret_choice, struct error *err) {
    const char *what;
    const bool *takes = takes_of(items, &what);
    *ret_choice = choose(given, takes);
    bool is_second_film =
        ret_choice->ending && ret_choice->ending->form == KIND_FILM && ret_choice->count > 1;
    if (is_second_film) {
        return error_set(err, ERROR_INVALID,
                         "%s: %lld videos found, a job takes one: give its path", shown,
                         (long long)ret_choice->count);
    }
    return ret_choice->forms == 1 ? 0 : refuse(ret_choice, given, shown, what, err);
}

static void set_form(struct score_input *input, const struct choice *choice) {
    input->form = choice->ending->form;
    input->table_format = choice->ending->table_format;
    input->count = choice->count;
}

static int find_in_folder(const char *path, const char *pattern, const char *items,
                          struct score_input *input, struct error *err) {
    AUTO(census_release)
    struct census census = {.counts = json_object(), .firsts = json_object()};
    struct choice choice;
    input->path = realpath(path, NULL);
    if (!input->path) {
        return error_set(err, ERROR_INVALID, "%s: %m", path);
    }
    if (count_folder(input->path, pattern, &census, err) < 0 ||
        choose_all(&census, items, path, &choice, err) < 0) {
        return -1;
    }
    set_form(input, &choice);
    const char *first = json_string_value(json_object_get(census.firsts, choice.spelled));
    input->first = x_strdup(first ? first : input->path);
    if (input->form == KIND_FILM) {
        free(input->path);
        input->path = x_strdup(input->first);
        return 0;
    }
    if (pattern) {
        input->pattern = x_strdup(pattern);
        return 0;
    }
    return find_pattern(&census, &choice, path, input, err);
}

/* A manifest of a table, an array or a film names the one file itself. */
static int find_files(const char *const *paths, size_t count, const char *items,
                      struct score_input *input, struct error *err) {
    AUTO(census_release) struct census given = {.counts = json_object(), .firsts = json_object()};
    struct choice choice;
    for (size_t i = 0; i < count; i++) {
        count_file(&given, paths[i]);
    }
    if (find_names(paths, count, input, err) < 0 ||
        choose_all(&given, items, paths[0], &choice, err) < 0) {
        return -1;
    }
    if (choice.count < (int64_t)count) {
        AUTO(text_freep) char *list = show(&given);
        return error_set(err, ERROR_INVALID, "the network does not take all of these files: %s",
                         list);
    }
    set_form(input, &choice);
    if (input->form == KIND_PICTURES || input->form == KIND_TEXTS) {
        return 0;
    }
    if (count > 1) {
        return error_set(err, ERROR_INVALID,
                         "%zu files of a table or of arrays: give their folder, with --pattern if "
                         "not all of it is meant",
                         count);
    }
    json_decref(TAKE(input->names));
    free(input->path);
    input->path = x_strdup(input->first);
    return 0;
}

void score_input_release(struct score_input *input) {
    free(input->path);
    free(input->pattern);
    free(input->first);
    json_decref(input->names);
    *input = (struct score_input){0};
}

int score_input_find(const char *const *paths, size_t count, const char *pattern, const char *items,
                     struct score_input *ret_input, struct error *err) {
    AUTO(score_input_release) struct score_input input = {0};
    bool has_folder = false;
    for (size_t i = 0; i < count; i++) {
        has_folder = has_folder || file_is_folder(paths[i]);
    }
    if (has_folder && count > 1) {
        return error_set(err, ERROR_INVALID,
                         "a job has one input: give one folder, or files of one folder");
    }
    if (pattern && !has_folder) {
        return error_set(err, ERROR_INVALID, "--pattern %s: is for a folder", pattern);
    }
    int result = has_folder ? find_in_folder(paths[0], pattern, items, &input, err)
                            : find_files(paths, count, items, &input, err);
    if (result == 0) {
        *ret_input = input;
        input = (struct score_input){0};
    }
    return result;
}
