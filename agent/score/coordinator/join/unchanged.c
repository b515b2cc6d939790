// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/join/unchanged.h"

#include "agent/result/envelope.h"
#include "agent/result/result_file.h"
#include "agent/score/coordinator/kept.h"
#include "agent/score/coordinator/rerun.h"
#include "lib/digest.h"

int unchanged_refuse(const struct job *job, const char *name, struct error *err) {
    return error_set(err, ERROR_INVALID,
                     "spec.output.path: %s/%s is not as the last run wrote it: " RESTART_HINT,
                     job->output, name);
}

/* One that is gone is made again (summary_read_message). */
static int check_made(const struct prepared_job *prepared, const struct job *job,
                      const json_t *file, struct error *err) {
    const char *name = tree_text(file, "name", "");
    struct store_info info;
    struct error cause = {0};
    bool is_same = false;
    if (store_stat(prepared->output, name, &info, &cause) < 0) {
        *err = cause.kind == ERROR_NOT_FOUND ? *err : cause;
        return cause.kind == ERROR_NOT_FOUND ? 0 : error_context(err, "spec.output.path");
    }
    if (kept_is_there(prepared->output, file, &is_same, err) < 0) {
        return error_context(err, "spec.output.path");
    }
    return is_same ? 0 : unchanged_refuse(job, name, err);
}

/* text: of result.json. Signing it now would vouch for what others may have written meanwhile. */
static int check_signed(const struct prepared_job *prepared, const struct job *job,
                        const struct buffer *text, struct error *err) {
    AUTO(buffer_release) struct buffer envelope;
    struct error cause = {0};
    char hex[65];
    buffer_init(&envelope, ENVELOPE_BYTES_MAX);
    if (!prepared->key) {
        return 0;
    }
    int found = store_get(prepared->output, RESULT_ENVELOPE_NAME, &envelope, NULL, &cause);
    if (found < 0 && cause.kind != ERROR_NOT_FOUND) {
        *err = cause;
        return error_context(err, "spec.output.path");
    }
    digest_sha256(text->data ? text->data : "", text->size, hex);
    return found == 0 && envelope_check(envelope.data ? envelope.data : "", envelope.size,
                                        prepared->key, hex, &cause) == 0
               ? 0
               : error_set(err, ERROR_INVALID,
                           "spec.signingKey: %s/" RESULT_NAME
                           " of the last run is not signed with this key: " RESTART_HINT,
                           job->output);
}

static int check_all(const struct prepared_job *prepared, const struct job *job,
                     const struct buffer *text, struct error *err) {
    AUTO(tree_freep) json_t *result = NULL;
    struct error ignored = {0};
    size_t i;
    const json_t *file;
    if (result_file_parse(text->data ? text->data : "", text->size, &result, &ignored) < 0) {
        return 0; /* an earlier release's summary counts without it */
    }
    json_array_foreach(json_object_get(result, "outputs"), i, file) {
        if (check_made(prepared, job, file, err) < 0) {
            return -1;
        }
    }
    /* The files of items are in a list of their own. */
    const json_t *list = json_object_get(result, "list");
    bool is_same = true;
    if (list && kept_is_there(prepared->output, list, &is_same, err) < 0) {
        return error_context(err, "spec.output.path");
    }
    return is_same ? 0 : unchanged_refuse(job, tree_text(list, "name", ""), err);
}

int unchanged_check(const struct prepared_job *prepared, const struct job *job, bool is_compared,
                    struct error *err) {
    AUTO(buffer_release) struct buffer text;
    struct error cause = {0};
    buffer_init(&text, RESULT_BYTES_MAX);
    if (store_get(prepared->output, RESULT_NAME, &text, NULL, &cause) < 0 &&
        cause.kind != ERROR_NOT_FOUND) {
        *err = cause;
        return error_context(err, "spec.output.path");
    }
    if (check_signed(prepared, job, &text, err) < 0) {
        return -1;
    }
    return is_compared ? 0 : check_all(prepared, job, &text, err);
}
