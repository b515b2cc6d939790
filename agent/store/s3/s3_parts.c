// SPDX-License-Identifier: Apache-2.0
/* The beginning and the abandonment of an upload in parts. */
#include "agent/store/s3/s3_store.h"

#include "agent/store/cloud/xml.h"
#include "lib/time/clock.h"

#include <stdlib.h>
#include <string.h>

enum { ANSWER_BYTES_MAX = 64 << 10, ID_BYTES_MAX = 2048, ABORT_MS = 10000 };

static int read_id(void *context, const struct xml_path *path, char *text,
                   struct error *err UNUSED) {
    char **id = context;
    if (xml_is_at(path, "InitiateMultipartUploadResult/UploadId") && !*id &&
        strlen(text) <= ID_BYTES_MAX) {
        *id = x_strdup(text);
    }
    return 0;
}

int s3_begin_parts(struct store *base, const char *name, const char *nonce, char **ret_id,
                   struct error *err) {
    AUTO(text_freep) char *answer = x_malloc(ANSWER_BYTES_MAX);
    AUTO(text_freep) char *id = NULL;
    struct cloud_call call = {.method = "POST",
                              .name = name,
                              .parameters = {{"uploads", ""}},
                              .nonce = nonce,
                              .body = "",
                              .into = answer,
                              .room = ANSWER_BYTES_MAX};
    const struct xml_visitor visitor = {.root = "InitiateMultipartUploadResult",
                                        .refusal = "the response has no upload's id",
                                        .leaf = read_id,
                                        .context = &id};
    if (cloud_run(cloud_of(base), &call, 1, err) < 0) {
        return -1;
    }
    struct error cause = {0};
    if (xml_read(answer, call.received, &visitor, &cause) < 0 || !id || !*id) {
        return error_set(err, ERROR_UNAVAILABLE, "%s/%s: the response has no upload's id",
                         cloud_account_path(cloud_of(base)), name);
    }
    *ret_id = TAKE(id);
    return 0;
}

void s3_abort_parts(struct store *base, const char *name, const char *id) {
    struct error ignored = {0};
    struct cloud_call call = {.method = "DELETE",
                              .name = name,
                              .parameters = {{"uploadId", id}},
                              .accepts = 404,
                              .deadline_ms = clock_monotonic_ms() + ABORT_MS};
    if (cloud_run(cloud_of(base), &call, 1, &ignored) < 0) {
        return; /* its parts stay, and cost, until a rule of the bucket ends them */
    }
}
