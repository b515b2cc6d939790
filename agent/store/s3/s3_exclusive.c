// SPDX-License-Identifier: Apache-2.0
/* Whether a server makes an object only if there is none (If-None-Match: *; of Google,
 * x-goog-if-generation-match: 0), which many ignore without a word: then two coordinators could
 * both believe that they hold a job. It is tried with objects of random names, which are removed.
 */
#include "agent/store/s3/s3_store.h"

#include "lib/digest.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { KNOWN_MAX = 64 };

/* What is known about folders of buckets: one's keys may be allowed what another's are not. */
static struct known {
    char *place; /* dialect, endpoint, bucket and folder */
    bool is_exclusive, is_asked, completes;
} known[KNOWN_MAX];
static int known_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The caller holds the lock. NULL: there is no room to remember it. */
static struct known *find(const struct cloud_store *store) {
    const struct s3_place *place = (const struct s3_place *)store->place;
    AUTO(text_freep)
    char *name = x_printf("%s %s %s/%s", place->is_google ? "gs" : "s3", place->base.endpoint,
                          place->bucket, place->base.folder);
    for (int i = 0; i < known_count; i++) {
        if (strcmp(known[i].place, name) == 0) {
            return &known[i];
        }
    }
    if (known_count == KNOWN_MAX) {
        return NULL;
    }
    known[known_count].place = TAKE(name);
    return &known[known_count++];
}

/* Makes the object if there is none. *ret_is_refused: the server found one. */
static int make_once(struct cloud_store *store, const char *name, int64_t deadline_ms,
                     bool *ret_is_refused, struct error *err) {
    struct cloud_call call = {.method = "PUT",
                              .name = name,
                              .shown = "",
                              .if_none_match = "*",
                              .body = "x",
                              .body_size = 1,
                              .accepts = 412,
                              .deadline_ms = deadline_ms};
    int result = cloud_run(store->account, &call, 1, err);
    *ret_is_refused = call.status == 412;
    return result;
}

static int remove_it(struct cloud_store *store, const char *name, int64_t deadline_ms,
                     struct error *err) {
    struct cloud_call call = {
        .method = "DELETE", .name = name, .shown = "", .accepts = 404, .deadline_ms = deadline_ms};
    return cloud_run(store->account, &call, 1, err);
}

static int refuse(const struct cloud_store *store, struct error *err) {
    const struct s3_place *place = (const struct s3_place *)store->place;
    return error_set(err, ERROR_UNSUPPORTED,
                     "%s: the server at %s overwrites an object that is to be made once (%s): two "
                     "writers could both believe that they made it; %s, for example, do not",
                     cloud_account_path(store->account), place->authority,
                     place->is_google ? "x-goog-if-generation-match: 0" : "If-None-Match: *",
                     "Amazon S3, Ceph and Google Cloud Storage");
}

int s3_check_exclusive(struct cloud_store *store, int64_t deadline_ms, struct error *err) {
    pthread_mutex_lock(&lock);
    struct known *row = find(store);
    bool is_known = row && row->is_exclusive;
    pthread_mutex_unlock(&lock);
    if (is_known) {
        return 0;
    }
    AUTO(text_freep) char *nonce = digest_random(CLOUD_NONCE_CHARACTERS / 2);
    AUTO(text_freep) char *name = x_printf(".windlass-probe-%s", nonce);
    bool is_refused = false;
    if (make_once(store, name, deadline_ms, &is_refused, err) < 0 ||
        make_once(store, name, deadline_ms, &is_refused, err) < 0 ||
        remove_it(store, name, deadline_ms, err) < 0) {
        return -1;
    }
    if (!is_refused) {
        return refuse(store, err);
    }
    pthread_mutex_lock(&lock);
    row = find(store);
    if (row) {
        row->is_exclusive = true;
    }
    pthread_mutex_unlock(&lock);
    return 0;
}

/* Completes an upload of one part to the name of an object, which must be refused. */
static int try_complete(struct cloud_store *store, const char *name, bool *ret_is_refused,
                        struct error *err) {
    AUTO(text_freep) char *id = NULL;
    if (s3_begin_parts(&store->base, name, "probe", &id, err) < 0) {
        return -1;
    }
    struct cloud_call part = {.method = "PUT",
                              .name = name,
                              .shown = "",
                              .parameters = {{"partNumber", "1"}, {"uploadId", id}},
                              .body = "y",
                              .body_size = 1};
    int result = cloud_run(store->account, &part, 1, err);
    AUTO(text_freep)
    char *body = x_printf("<CompleteMultipartUpload><Part><PartNumber>1</PartNumber>"
                          "<ETag>\"%s\"</ETag></Part></CompleteMultipartUpload>",
                          part.token);
    char answer[4096];
    struct cloud_call complete = {.method = "POST",
                                  .name = name,
                                  .shown = "",
                                  .parameters = {{"uploadId", id}},
                                  .if_none_match = "*",
                                  .body = body,
                                  .body_size = strlen(body),
                                  .into = answer,
                                  .room = sizeof answer - 1};
    struct error cause = {0};
    if (result == 0 && cloud_run(store->account, &complete, 1, &cause) < 0) {
        result = store_error_is_machine(&cause) ? (*err = cause, -1) : 0;
    }
    *ret_is_refused = complete.status == 412;
    if (complete.status != 200) {
        s3_abort_parts(&store->base, name, id);
    }
    return result;
}

int s3_completes_exclusively(struct cloud_store *store, struct error *err) {
    pthread_mutex_lock(&lock);
    struct known *row = find(store);
    int answer = row && row->is_asked ? row->completes : -1;
    pthread_mutex_unlock(&lock);
    if (answer >= 0) {
        return answer;
    }
    AUTO(text_freep) char *nonce = digest_random(CLOUD_NONCE_CHARACTERS / 2);
    AUTO(text_freep) char *name = x_printf(".windlass-probe-%s", nonce);
    bool is_refused = false;
    if (make_once(store, name, 0, &is_refused, err) < 0 ||
        try_complete(store, name, &is_refused, err) < 0 || remove_it(store, name, 0, err) < 0) {
        return -1;
    }
    pthread_mutex_lock(&lock);
    row = find(store);
    if (row) {
        row->is_asked = true;
        row->completes = is_refused;
    }
    pthread_mutex_unlock(&lock);
    return is_refused;
}
