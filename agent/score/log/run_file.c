// SPDX-License-Identifier: Apache-2.0
#include "agent/score/log/run_file.h"

#include "agent/store/moving_paths.h"
#include "lib/digest.h"
#include "lib/text/tree_changes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUN_BYTES_MAX = 1 << 20, RUN_FORMAT = 2 };

static char *name_of(const char *home, int64_t number) {
    return generation_name(home, number, "run", ".json");
}

/* ---- what this run would begin with ---------------------------------------------------------- */

/* For a video the first frame is enough, since its description has the file's size. */
static void add_input(json_t *run, const struct media *media, const struct listing *listing) {
    AUTO(tree_freep) json_t *work = media->work(listing, 0, 1);
    AUTO(text_freep) char *text = tree_canonical(work);
    char hex[65];
    digest_sha256(text, strlen(text), hex);
    json_object_set_new(run, "items", json_integer(media->count(listing)));
    json_object_set_new(run, "input", json_string(hex));
}

/* People put secrets into variables, and others read outputs and status: a value that has changed
 * is known by its digest. */
static void hide_values(json_t *scorer) {
    static const char mark[] = "SHA-256 ";
    json_t *variables = tree_get(scorer, "command.environment"), *value;
    const char *name;
    json_object_foreach(variables, name, value) {
        const char *text = json_string_value(value);
        char hex[65];
        if (text && !text_starts(text, mark)) {
            digest_sha256(text, strlen(text), hex);
            json_object_set_new(variables, name, json_sprintf("%s%.12s", mark, hex));
        }
    }
}

/* Without fields that change no result. */
static json_t *scorer_of(const json_t *spec) {
    json_t *scorer = json_deep_copy(json_object_get(spec, "scorer"));
    json_t *command = json_object_get(scorer, "command");
    json_object_del(command, "processesPerWorker");
    json_object_del(command, "initTimeoutSeconds");
    json_object_del(json_object_get(scorer, "endpoint"), "clientCertificate");
    json_t *cost = tree_get(scorer, "endpoint.cost");
    if (json_object_del(cost, "perGpuHour") == 0 && json_object_size(cost) == 0) {
        json_object_del(json_object_get(scorer, "endpoint"), "cost");
    }
    hide_values(scorer);
    return scorer;
}

json_t *run_file_make(const json_t *spec, const struct media *media, const struct listing *listing,
                      const json_t *files) {
    static const char *const sizes[] = {"miniBatchSize", "miniBatchBytes"};
    json_t *run = json_pack("{s:i,s:O?,s:{s:O?,s:o?,s:O?},s:{}}", "windlass", RUN_FORMAT, "files",
                            files, "spec", "input", json_object_get(spec, "input"), "scorer",
                            scorer_of(spec), "output", json_object_get(spec, "output"), "size");
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        json_object_set(json_object_get(run, "size"), sizes[i], json_object_get(spec, sizes[i]));
    }
    if (!media->lines) {
        add_input(run, media, listing);
    }
    return run;
}

/* ---- the stored file ------------------------------------------------------------------------ */

static bool has_changed(const json_t *then, const json_t *now, const char *name) {
    const json_t *before = json_object_get(then, name), *after = json_object_get(now, name);
    return (before || after) && !json_equal(before, after);
}

/* "" if the file was not used. */
static const char *digest_of(const json_t *files, const char *field) {
    const char *text = json_string_value(json_object_get(files, field));
    return text ? text : "";
}

/* A file of a program or server that is new does not count: it may be a cache's. */
static bool is_of_program(const char *field) {
    return text_starts(field, RUN_FILE_CODE) || text_starts(field, RUN_FILE_SERVER);
}

const char *run_file_find_change(const json_t *then, const json_t *now) {
    const char *field;
    const json_t *ignored;
    json_object_foreach((json_t *)then, field, ignored) {
        if (strcmp(digest_of(now, field), digest_of(then, field)) != 0) {
            return field;
        }
    }
    json_object_foreach((json_t *)now, field, ignored) {
        if (!is_of_program(field) && strcmp(digest_of(now, field), digest_of(then, field)) != 0) {
            return field;
        }
    }
    return NULL;
}

void run_file_describe_change(const json_t *then, const json_t *now, const char *field,
                              char text[static RUN_FILE_CHANGE_BYTES]) {
    const char *before = digest_of(then, field), *after = digest_of(now, field);
    snprintf(text, RUN_FILE_CHANGE_BYTES, "SHA-256 %.12s, the run began with %.12s",
             *after ? after : "none", *before ? before : "none");
}

int run_file_check_worker(const json_t *then, const json_t *now, const char *worker,
                          struct error *err) {
    char change[RUN_FILE_CHANGE_BYTES];
    const char *field = run_file_find_change(then, now);
    if (!field) {
        return 0;
    }
    run_file_describe_change(then, now, field, change);
    return error_set(err, ERROR_INVALID,
                     "spec.%s changed while the job ran: worker %s has loaded a file with %s; "
                     "restore the file, or run the job with another output",
                     field, worker, change);
}

void run_file_add_paths(json_t *run, const json_t *paths) {
    if (json_object_size(paths) > 0) {
        json_object_set(run, "paths", (json_t *)paths);
    }
}

/* ---- all changes ---------------------------------------------------------------------------- */

/* Where its path leads elsewhere now, as with a newer version of a model, that is the reason. */
static void compare_file(struct tree_changes *changes, const char *field, const json_t *then,
                         const json_t *now) {
    const char *before = digest_of(json_object_get(then, "files"), field);
    const char *after = digest_of(json_object_get(now, "files"), field);
    char moved[MOVING_PATHS_TEXT_MAX];
    if (strcmp(before, after) == 0) {
        return;
    }
    moving_paths_describe(tree_text(json_object_get(now, "spec"), field, ""),
                          json_object_get(then, "paths"), json_object_get(now, "paths"), moved);
    AUTO(text_freep)
    char *change = *moved ? x_printf("spec.%.100s: %s", field, moved)
                          : x_printf("spec.%.100s: the file's SHA-256 was %.12s, is %.12s", field,
                                     *before ? before : "none", *after ? after : "none");
    tree_changes_add(changes, change);
}

/* Of an input without lines. */
static void compare_input(struct tree_changes *changes, const json_t *then, const json_t *now) {
    long long before = tree_integer(then, "items", 0), after = tree_integer(now, "items", 0);
    if (!has_changed(then, now, "items") && !has_changed(then, now, "input")) {
        return;
    }
    AUTO(text_freep)
    char *change = before == after
                       ? x_printf("spec.input: %lld items, but not the same ones as before", after)
                       : x_printf("spec.input: %lld items then, %lld now", before, after);
    tree_changes_add(changes, change);
}

int run_file_changes(const json_t *then, const json_t *now,
                     char text[static RUN_FILE_CHANGES_BYTES]) {
    struct tree_changes changes;
    const json_t *files_then = json_object_get(then, "files");
    const json_t *files_now = json_object_get(now, "files");
    const json_t *spec_then = json_object_get(then, "spec");
    const char *field;
    const json_t *ignored;
    tree_changes_init(&changes, text, RUN_FILE_CHANGES_BYTES);
    if (spec_then) { /* earlier releases did not store it; RUN has the same fields */
        tree_changes_compare(&changes, "spec", spec_then, json_object_get(now, "spec"));
    }
    json_object_foreach((json_t *)files_then, field, ignored) {
        compare_file(&changes, field, then, now);
    }
    json_object_foreach((json_t *)files_now, field, ignored) {
        if (!json_object_get(files_then, field) && !is_of_program(field)) {
            compare_file(&changes, field, then, now);
        }
    }
    compare_input(&changes, then, now);
    tree_changes_finish(&changes);
    return changes.count;
}

/* ---- the stored file ------------------------------------------------------------------------ */

int run_file_read(struct store *output, const char *home, int64_t number, json_t **ret_run,
                  struct error *err) {
    AUTO(text_freep) char *name = name_of(home, number);
    AUTO(tree_freep) json_t *then = NULL;
    AUTO(buffer_release) struct buffer text;
    struct error cause = {0};
    buffer_init(&text, RUN_BYTES_MAX);
    if (store_get(output, name, &text, NULL, &cause) < 0) {
        if (cause.kind == ERROR_NOT_FOUND) {
            *ret_run = NULL;
            return 0;
        }
        *err = cause;
        return error_context(err, "spec.output.path");
    }
    if (tree_parse(text.data ? text.data : "", text.size, RUN_BYTES_MAX, &then, err) < 0) {
        return error_context(err, "spec.output.path: %s/%s", store_path(output), name);
    }
    int64_t format = tree_integer(then, "windlass", 0);
    if (format != RUN_FORMAT) {
        return error_set(err, ERROR_INVALID,
                         "%s/%s was written by another release (its format is %lld, this one's "
                         "%d): choose another output",
                         store_path(output), name, (long long)format, RUN_FORMAT);
    }
    hide_values(tree_get(then, "spec.scorer")); /* earlier releases stored them */
    *ret_run = TAKE(then);
    return 0;
}

int run_file_store(struct store *output, const char *home, int64_t number, const json_t *run,
                   struct error *err) {
    AUTO(text_freep) char *name = name_of(home, number);
    AUTO(text_freep) char *text = json_dumps(run, JSON_COMPACT);
    AUTO(tree_freep) json_t *then = NULL;
    char changes[RUN_FILE_CHANGES_BYTES];
    struct error cause = {0};
    if (store_put(output, name, text, strlen(text), STORE_CREATE, &cause) == 0) {
        return 0;
    }
    if (cause.kind != ERROR_CONFLICT) {
        *err = cause;
        return error_context(err, "spec.output.path");
    }
    if (run_file_read(output, home, number, &then, err) < 0) {
        return -1;
    }
    return then && run_file_changes(then, run, changes) > 0
               ? error_set(err, ERROR_INVALID, "%s/%s: %s", store_path(output), name, changes)
               : 0;
}
