// SPDX-License-Identifier: Apache-2.0
/* The stores of S3 and of Google's Cloud Storage: their tables of functions. */
#include "agent/store/s3/s3_store.h"

#include "agent/store/s3/s3_keys.h"
#include "lib/text/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 1024 };

/* A reader asks for an object that is not there; a writer makes and removes one. */
static int s3_probe(struct cloud_store *store, bool writes, int64_t deadline_ms,
                    struct error *err) {
    char byte;
    struct cloud_call call = {.method = "GET",
                              .name = ".windlass-probe",
                              .shown = "",
                              .range_size = 1,
                              .into = &byte,
                              .room = 1,
                              .accepts = 404,
                              .deadline_ms = deadline_ms};
    struct error cause = {0};
    int result = cloud_run(store->account, &call, 1, &cause);
    if (strcmp(call.code, "NoSuchBucket") == 0) {
        return error_set(err, ERROR_NOT_FOUND, "%s: bucket not found",
                         cloud_account_path(store->account));
    }
    if (result < 0) {
        *err = cause;
        return -1;
    }
    return writes ? s3_check_exclusive(store, deadline_ms, err) : 0;
}

static void s3_place_free(struct cloud_place *base) {
    s3_place_release((struct s3_place *)base);
    free(base);
}

/* ---- requests and responses ----------------------------------------------------------------- */

static int check_name(const struct cloud_place *place, const char *name, struct error *err) {
    size_t length = strlen(name);
    return utf8_valid_size(name, length) == length &&
                   strlen(place->folder) + 1 + length <= NAME_MAX_BYTES
               ? 0
               : error_set(err, ERROR_INVALID,
                           "not a valid name in a bucket: expected UTF-8 of at most %d bytes",
                           NAME_MAX_BYTES);
}

/* Copies what is between two tags of an error's text; "" if it has none. */
static void copy_element(const char *text, const char *open, char *copy, size_t room) {
    const char *start = strstr(text, open);
    start = start ? start + strlen(open) : "";
    cloud_copy_shown(copy, room, start, strcspn(start, "<"));
}

static bool is_code(const struct cloud_call *call, const char *code) {
    return strcmp(call->code, code) == 0;
}

/* What the keys of an ended session get. An answer to HEAD has no text, so no code either. */
static bool is_ended_session(const struct cloud_call *call) {
    return call->status == 400 && (is_code(call, "ExpiredToken") || is_code(call, "InvalidToken") ||
                                   (is_code(call, "") && strcmp(call->method, "HEAD") == 0));
}

static bool is_refused(const struct cloud_call *call) {
    return call->status == 401 || call->status == 403 || is_ended_session(call);
}

/* Why: the codes that do not say it themselves. */
static void set_hint(const struct s3_place *place, struct cloud_call *call, const char *region) {
    bool is_elsewhere = call->status == 301 || is_code(call, "AuthorizationHeaderMalformed") ||
                        is_code(call, "IllegalLocationConstraintException");
    is_elsewhere =
        is_elsewhere || (*region && call->status == 400 && strcmp(region, place->region) != 0);
    if (is_elsewhere) {
        snprintf(call->hint, sizeof call->hint,
                 ": asked in %.40s, the bucket is in %.40s: set its "
                 "region (spec.buckets[].region, AWS_REGION)",
                 place->region, *region ? region : "another region");
    } else if (is_code(call, "SignatureDoesNotMatch")) {
        snprintf(call->hint, sizeof call->hint, ": AWS_SECRET_ACCESS_KEY is not the key's");
    } else if (is_code(call, "InvalidAccessKeyId") || is_code(call, "InvalidSecurity")) {
        snprintf(call->hint, sizeof call->hint, ": AWS_ACCESS_KEY_ID is unknown there");
    } else if (is_code(call, "AccessDenied") && strcmp(call->method, "GET") == 0) {
        snprintf(call->hint, sizeof call->hint, ": %s are needed",
                 place->is_google ? "storage.objects.list and storage.objects.get"
                                  : "s3:ListBucket and s3:GetObject");
    } else if (is_ended_session(call)) {
        snprintf(call->hint, sizeof call->hint, ": AWS_SESSION_TOKEN may have expired");
    } else if (call->status == 412 && call->if_none_match) {
        snprintf(call->hint, sizeof call->hint, ": already exists");
    }
}

static void note(const struct cloud_place *place, struct cloud_call *call,
                 const struct http_answer *answer) {
    bool is_google = ((const struct s3_place *)place)->is_google;
    const char *nonce =
        http_answer_header(answer, is_google ? "x-goog-meta-windlass" : "x-amz-meta-windlass");
    const char *header = http_answer_header(answer, "x-amz-bucket-region");
    call->is_ours = call->nonce && nonce && strcmp(nonce, call->nonce) == 0;
    if (answer->status >= 300) {
        char region[48] = "";
        copy_element(answer->body, "<Code>", call->code, sizeof call->code);
        copy_element(answer->body, "<Region>", region, sizeof region);
        if (header) {
            cloud_copy_shown(region, sizeof region, header, strlen(header));
        }
        set_hint((const struct s3_place *)place, call, region);
    }
}

/* 409: another writer makes the same object now. */
static bool is_transient(const struct cloud_call *call) {
    return call->status == 307 ||
           (call->status == 409 &&
            (is_code(call, "ConditionalRequestConflict") || is_code(call, "OperationAborted"))) ||
           (call->status == 400 && is_code(call, "RequestTimeout"));
}

static enum error_kind kind_of(const struct cloud_call *call) {
    if (is_refused(call)) {
        return ERROR_DENIED;
    }
    if (is_transient(call)) {
        return ERROR_UNAVAILABLE;
    }
    switch (call->status) {
    case 404:
        return is_code(call, "NoSuchUpload") ? ERROR_UNAVAILABLE : ERROR_NOT_FOUND;
    case 412:
        return ERROR_CONFLICT;
    case 429:
    case 503:
        return ERROR_BUSY;
    case 301:
    case 400:
    case 405:
    case 411:
    case 413:
    case 414:
        return ERROR_INVALID;
    case 501:
        return ERROR_UNSUPPORTED;
    default:
        return ERROR_UNAVAILABLE;
    }
}

static void fill_page_call(const struct cloud_page *page, const char *encoding,
                           struct cloud_call *call) {
    const struct cloud_parameter all[] = {
        {"continuation-token", page->marker},
        {"encoding-type", encoding},
        {"list-type", "2"},
        {"max-keys", strlen(page->names) > 3 ? "1000" : page->names}, /* the most there is */
        {"prefix", page->prefix},
        {"start-after", page->after && !*page->marker ? page->after : ""}};
    for (size_t i = 0, used = 0; i < ARRAY_LEN(all); i++) {
        if (*all[i].value) {
            call->parameters[used++] = all[i];
        }
    }
}

static void page_call(const struct cloud_page *page, struct cloud_call *call) {
    fill_page_call(page, "url", call);
}

/* Google does not say whether "+" stands for a space, as Amazon has it: names come as they are. */
static void google_page_call(const struct cloud_page *page, struct cloud_call *call) {
    fill_page_call(page, "", call);
}

#define SERVICE(page)                                                                              \
    {                                                                                              \
        .read_only = "bucket is read-only (spec.buckets[].readOnly)",                              \
        .other_order = "a server that lists in the order of the names' bytes is expected",         \
        .check_name = check_name, .sign = s3_sign, .read_grant = s3_read_grant, .note = note,      \
        .is_refused = is_refused, .is_transient = is_transient, .kind_of = kind_of,                \
        .page_call = (page), .read_page = s3_list_read, .piece_bytes = s3_part_bytes,              \
        .pieces_max = S3_PARTS_MAX, .begin = s3_begin, .piece_call = s3_piece_call,                \
        .piece_done = s3_piece_done, .commit = s3_commit, .abandon = s3_abandon,                   \
        .probe = s3_probe, .place_free = s3_place_free,                                            \
    }
static const struct cloud_service s3_service = SERVICE(page_call);
static const struct cloud_service google_service = SERVICE(google_page_call);

static int s3_open(const char *spec_path, bool writes, struct store **ret_store,
                   struct error *err) {
    struct s3_place place;
    if (s3_place_read(spec_path, &place, err) < 0) {
        return error_context(err, "%.200s", spec_path);
    }
    struct s3_place *kept = x_malloc(sizeof *kept);
    *kept = place;
    AUTO(text_freep)
    char *path = x_printf("%.5s%s%s%s", spec_path, place.bucket, *place.base.folder ? "/" : "",
                          place.base.folder);
    return cloud_store_open(place.is_google ? &google_service : &s3_service, &kept->base, path,
                            writes, ret_store, err);
}

const struct store_ops s3_store_ops = {
    .prefix = "s3://",
    .place_parts = 1,
    .open = s3_open,
    CLOUD_STORE_OPS,
};

const struct store_ops google_store_ops = {
    .prefix = "gs://",
    .place_parts = 1,
    .open = s3_open,
    CLOUD_STORE_OPS,
};
