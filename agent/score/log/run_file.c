// SPDX-License-Identifier: Apache-2.0
#include "agent/score/log/run_file.h"

#include "agent/store/local_file.h"
#include "lib/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUN_BYTES_MAX = 64 << 10, PIECE_BYTES = 1 << 20 };

static char *name_of(const char *run_name) {
    return x_printf(".windlass/%s/run.json", run_name);
}

/* ---- the current files ---------------------------------------------------------------------- */

/* The file is read, not mapped: if it is truncated meanwhile or its mount dies, a read returns an
 * error. */
static int digest_file(const char *path, const char *spec_path, char hex[static 65],
                       struct error *err) {
    AUTO(text_freep) char *piece = x_malloc(PIECE_BYTES);
    AUTO(digest_freep) struct digest *digest = digest_new();
    AUTO(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return error_from_errno(err, errno, "%s", spec_path);
    }
    ssize_t got;
    while ((got = read(fd, piece, PIECE_BYTES)) != 0) {
        if (got < 0 && errno != EINTR) {
            return error_from_errno(err, errno, "%s", spec_path);
        }
        digest_add(digest, piece, got > 0 ? (size_t)got : 0);
    }
    digest_end(TAKE(digest), hex);
    return 0;
}

/* Adds the field's file, if the spec has the field. path: on this machine; NULL: not fetched
 * yet. */
static int add_file(json_t *run, const struct job *job, const char *name, const char *field,
                    const char *path, struct error *err) {
    AUTO(local_file_release) struct local_file file = {0};
    const char *spec_path = tree_text(job->spec, field, NULL);
    char hex[65];
    if (!spec_path) {
        return 0;
    }
    if ((!path && local_file_open(spec_path, &file, err) < 0) ||
        digest_file(path ? path : file.path, spec_path, hex, err) < 0) {
        return error_context(err, "spec.%s", field);
    }
    json_object_set_new(run, name, json_string(hex));
    return 0;
}

/* For a video the first frame is enough, since its description has the file's size. */
static void add_input(json_t *run, const struct media *media, const struct listing *listing) {
    AUTO(tree_freep) json_t *work = media->work(listing, 0, 1);
    AUTO(text_freep) char *text = tree_canonical(work);
    char hex[65];
    digest_sha256(text, strlen(text), hex);
    json_object_set_new(run, "items", json_integer(media->count(listing)));
    json_object_set_new(run, "input", json_string(hex));
}

int run_file_make(const struct job *job, const struct media *media, const struct listing *listing,
                  const char *network, json_t **ret_run, struct error *err) {
    AUTO(tree_freep) json_t *run = json_pack("{s:i}", "windlass", 1);
    if (add_file(run, job, "model", "scorer.onnx.path", network, err) < 0 ||
        add_file(run, job, "labels", "scorer.onnx.postprocess.labels", NULL, err) < 0) {
        return -1;
    }
    if (!media->lines) {
        add_input(run, media, listing);
    }
    *ret_run = TAKE(run);
    return 0;
}

/* ---- the stored file ------------------------------------------------------------------------ */

static bool has_changed(const json_t *then, const json_t *now, const char *name) {
    const json_t *before = json_object_get(then, name), *after = json_object_get(now, name);
    return (before || after) && !json_equal(before, after);
}

static int compare(struct store *output, const char *name, const json_t *then, const json_t *now,
                   struct error *err) {
    const char *path = store_path(output);
    if (has_changed(then, now, "model") || has_changed(then, now, "labels")) {
        return error_set(err, ERROR_INVALID,
                         "spec.scorer.onnx.%s is not the one that this run began with (%s/%s): "
                         "choose another output",
                         has_changed(then, now, "model") ? "path" : "postprocess.labels", path,
                         name);
    }
    if (has_changed(then, now, "items") || has_changed(then, now, "input")) {
        return error_set(err, ERROR_INVALID,
                         "spec.input: %lld items when this run began, %lld now, or others (%s/%s): "
                         "choose another output",
                         (long long)tree_integer(then, "items", 0),
                         (long long)tree_integer(now, "items", 0), path, name);
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
