// SPDX-License-Identifier: Apache-2.0
#include "agent/score/log/run_file.h"

#include "lib/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUN_BYTES_MAX = 1 << 20, RUN_FORMAT = 2 };

static char *name_of(const char *run_name) {
    return x_printf(".windlass/%s/run.json", run_name);
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

json_t *run_file_make(const struct media *media, const struct listing *listing,
                      const json_t *files) {
    json_t *run = json_pack("{s:i,s:O}", "windlass", RUN_FORMAT, "files", files);
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

const char *run_file_find_change(const json_t *then, const json_t *now) {
    const char *field;
    const json_t *ignored;
    json_object_foreach((json_t *)then, field, ignored) {
        if (strcmp(digest_of(now, field), digest_of(then, field)) != 0) {
            return field;
        }
    }
    json_object_foreach((json_t *)now, field, ignored) {
        if (!text_starts(field, RUN_FILE_CODE) &&
            strcmp(digest_of(now, field), digest_of(then, field)) != 0) {
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

static int compare(struct store *output, const char *name, const json_t *then, const json_t *now,
                   struct error *err) {
    const char *path = store_path(output);
    int64_t format = tree_integer(then, "windlass", 0);
    if (format != RUN_FORMAT) {
        return error_set(err, ERROR_INVALID,
                         "%s/%s was written by another release (its format is %lld, this one's "
                         "%d): choose another output",
                         path, name, (long long)format, RUN_FORMAT);
    }
    const json_t *files_then = json_object_get(then, "files");
    const json_t *files_now = json_object_get(now, "files");
    const char *field = run_file_find_change(files_then, files_now);
    if (field) {
        char change[RUN_FILE_CHANGE_BYTES];
        run_file_describe_change(files_then, files_now, field, change);
        return error_set(err, ERROR_INVALID,
                         "spec.%s is not the file that this run began with (%s; %s/%s): choose "
                         "another output",
                         field, change, path, name);
    }
    if (has_changed(then, now, "items") || has_changed(then, now, "input")) {
        long long before = tree_integer(then, "items", 0), after = tree_integer(now, "items", 0);
        if (before == after) {
            return error_set(err, ERROR_INVALID,
                             "spec.input: %lld items, but not those with which this run began "
                             "(%s/%s): choose another output",
                             after, path, name);
        }
        return error_set(err, ERROR_INVALID,
                         "spec.input: %lld items when this run began, %lld now (%s/%s): choose "
                         "another output",
                         before, after, path, name);
    }
    return 0;
}

int run_file_check(struct store *output, const char *run_name, const json_t *run,
                   struct error *err) {
    AUTO(text_freep) char *name = name_of(run_name);
    AUTO(tree_freep) json_t *then = NULL;
    AUTO(buffer_release) struct buffer text;
    struct error cause = {0};
    buffer_init(&text, RUN_BYTES_MAX);
    if (store_get(output, name, &text, NULL, &cause) < 0) {
        if (cause.kind == ERROR_NOT_FOUND) {
            return 0;
        }
        *err = cause;
        return error_context(err, "spec.output.path");
    }
    if (tree_parse(text.data ? text.data : "", text.size, RUN_BYTES_MAX, &then, err) < 0) {
        return error_context(err, "spec.output.path: %s/%s", store_path(output), name);
    }
    return compare(output, name, then, run, err);
}

int run_file_store(struct store *output, const char *run_name, const json_t *run,
                   struct error *err) {
    AUTO(text_freep) char *name = name_of(run_name);
    AUTO(text_freep) char *text = json_dumps(run, JSON_COMPACT);
    struct error cause = {0};
    if (store_put(output, name, text, strlen(text), STORE_CREATE, &cause) == 0) {
        return 0;
    }
    if (cause.kind != ERROR_CONFLICT) {
        *err = cause;
        return error_context(err, "spec.output.path");
    }
    return run_file_check(output, run_name, run, err);
}
