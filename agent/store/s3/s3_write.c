// SPDX-License-Identifier: Apache-2.0
/* Uploads in parts. Where the server cannot make an object of parts once, an upload waits in a file
 * of $TMPDIR until its commit says how it is meant: one request makes it once; parts replace. */
#include "agent/store/s3/s3_store.h"

#include "agent/store/cloud/xml.h"
#include "lib/buffer.h"
#include "lib/temporary_file.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PUT_BYTES_MAX ((int64_t)5 << 30) /* of one request, the service's limit */
#define SPOOL_PART_BYTES ((int64_t)64 << 20)

enum {
    ANSWER_BYTES_MAX = 64 << 10,
    LIST_BYTES_MAX = 4 << 20,
    PARTS_AT_ONCE = 4,
    ENDS_MAX = 4,      /* requests to end an upload that get 200 and a failure */
    END_WAIT_MS = 200, /* before the second one; then twice as long */
};

typedef char s3_tag[STORE_TOKEN_MAX];

struct parts {
    char *id;     /* of the upload; NULL: it is over, or waits in a file */
    s3_tag *tags; /* of each part */
    int64_t room;
};

int64_t s3_part_bytes(int64_t index) {
    int64_t pieces = index < 2000 ? 1 : index < 6000 ? 8 : 20;
    return pieces * CLOUD_PIECE_BYTES;
}

/* ---- parts of an upload --------------------------------------------------------------------- */

int s3_begin(struct cloud_upload *upload, struct error *err) {
    struct cloud_store *store = (struct cloud_store *)upload->base.store;
    int completes = s3_completes_exclusively(store, err);
    char *id = NULL;
    if (completes < 0 ||
        (completes && s3_begin_parts(&store->base, upload->name, upload->nonce, &id, err) < 0)) {
        return -1;
    }
    if (!completes) {
        upload->spool = temporary_file_open(err);
        if (!upload->spool) {
            return error_context(err, "%s/%s", store->base.path, upload->name);
        }
    }
    struct parts *parts = x_calloc(1, sizeof *parts);
    parts->id = id;
    upload->own = parts;
    return 0;
}

static void set_part_call(struct cloud_piece *piece, const char *name, const char *id) {
    snprintf(piece->id, sizeof piece->id, "%lld", (long long)piece->index + 1);
    piece->call = (struct cloud_call){
        .method = "PUT", .name = name, .parameters = {{"partNumber", piece->id}, {"uploadId", id}}};
}

void s3_piece_call(struct cloud_upload *upload, int64_t index UNUSED, struct cloud_piece *piece) {
    const struct parts *parts = upload->own;
    set_part_call(piece, upload->name, parts->id);
    piece->call.body = piece->data;
    piece->call.body_size = upload->filled;
}

void s3_piece_done(struct cloud_upload *upload, const struct cloud_piece *piece) {
    struct parts *parts = upload->own;
    if (piece->index >= parts->room) {
        int64_t room = MAX(piece->index + 1, 2 * parts->room);
        parts->tags = x_realloc_array(parts->tags, (size_t)room, sizeof *parts->tags);
        memset(parts->tags + parts->room, 0, (size_t)(room - parts->room) * sizeof *parts->tags);
        parts->room = room;
    }
    memcpy(parts->tags[piece->index], piece->call.token, sizeof *parts->tags);
}

void s3_abandon(struct cloud_upload *upload) {
    struct parts *parts = upload->own;
    if (!parts) {
        return;
    }
    if (parts->id) {
        s3_abort_parts(upload->base.store, upload->name, parts->id);
    }
    free(parts->id);
    free(parts->tags);
    free(TAKE(upload->own));
}

/* ---- the end of an upload ------------------------------------------------------------------- */

/* A request whose response was lost is repeated, and then there is no such upload, or an object
 * that was to be made once. It has our nonce if the first request made it. */
static int find_ours(struct cloud_upload *upload, enum store_put_mode how, struct error *err) {
    struct store *base = upload->base.store;
    struct cloud_call call = {
        .method = "HEAD", .name = upload->name, .nonce = upload->nonce, .accepts = 404};
    if (cloud_run(cloud_of(base), &call, 1, err) < 0) {
        return -1;
    }
    bool is_others = call.status != 404 && how == STORE_CREATE;
    return call.is_ours
               ? 0
               : error_set(err, is_others ? ERROR_CONFLICT : ERROR_UNAVAILABLE, "%s/%s: %s",
                           base->path, upload->name,
                           is_others ? "already exists" : "the upload has ended without it");
}

struct verdict {
    char code[CLOUD_CODE_MAX];
};

static int read_code(void *context, const struct xml_path *path, char *text,
                     struct error *err UNUSED) {
    struct verdict *verdict = context;
    if (xml_is_at(path, "Error/Code")) {
        cloud_copy_shown(verdict->code, sizeof verdict->code, text, strlen(text));
    }
    return 0;
}

static bool is_passing(const char *code) {
    return strcmp(code, "InternalError") == 0 || strcmp(code, "SlowDown") == 0 ||
           strcmp(code, "ServiceUnavailable") == 0;
}

/* 200 is said before the server begins, so what counts is the text. *ret_again: it may be asked
 * again. */
static int read_end(struct cloud_upload *upload, enum store_put_mode how,
                    const struct cloud_call *call, bool *ret_again, struct error *err) {
    struct verdict verdict = {0};
    struct error cause = {0};
    const struct xml_visitor failure = {.root = "Error",
                                        .refusal = "the response is neither",
                                        .leaf = read_code,
                                        .context = &verdict};
    AUTO(text_freep) char *copy = x_strndup(call->into, call->received);
    if (xml_read(copy, strlen(copy), &failure, &cause) == 0) {
        if (strcmp(verdict.code, "PreconditionFailed") == 0) {
            return find_ours(upload, how, err);
        }
        *ret_again = is_passing(verdict.code);
        return error_set(err, ERROR_UNAVAILABLE,
                         "%s/%s: the storage answered %s at the end of the upload",
                         upload->base.store->path, upload->name, verdict.code);
    }
    return memmem(call->into, call->received, "CompleteMultipartUploadResult>", 30)
               ? 0
               : error_set(err, ERROR_UNAVAILABLE, "%s/%s: the response to the upload is cut off",
                           upload->base.store->path, upload->name);
}

static int end_once(struct cloud_upload *upload, const struct buffer *list, enum store_put_mode how,
                    bool *ret_again, struct error *err) {
    const struct parts *parts = upload->own;
    AUTO(text_freep) char *answer = x_malloc(ANSWER_BYTES_MAX);
    struct cloud_call call = {.method = "POST",
                              .name = upload->name,
                              .parameters = {{"uploadId", parts->id}},
                              .if_none_match = how == STORE_CREATE ? "*" : NULL,
                              .body = list->data,
                              .body_size = list->size,
                              .into = answer,
                              .room = ANSWER_BYTES_MAX,
                              .accepts = 404};
    struct error cause = {0};
    int result = cloud_run(cloud_of(upload->base.store), &call, 1, &cause);
    if (call.status == 404 || call.status == 412) {
        return find_ours(upload, how, err);
    }
    if (result < 0) {
        *err = cause;
        return -1;
    }
    return read_end(upload, how, &call, ret_again, err);
}

static int complete(struct cloud_upload *upload, int64_t count, enum store_put_mode how,
                    struct error *err) {
    struct parts *parts = upload->own;
    struct store *base = upload->base.store;
    AUTO(buffer_release) struct buffer list;
    struct error full = {0};
    buffer_init(&list, LIST_BYTES_MAX);
    int result = buffer_printf(&list, &full, "<CompleteMultipartUpload>");
    for (int64_t i = 0; i < count && result == 0; i++) {
        result = buffer_printf(&list, &full,
                               "<Part><PartNumber>%lld</PartNumber><ETag>\"%s\"</ETag></Part>",
                               (long long)i + 1, parts->tags[i]);
    }
    if (result < 0 || buffer_printf(&list, &full, "</CompleteMultipartUpload>") < 0) {
        return error_set(err, ERROR_BUG, "%s/%s: %s", base->path, upload->name, full.text);
    }
    for (int tries = 1;; tries++) {
        struct error cause = {0};
        bool again = false;
        if (end_once(upload, &list, how, &again, &cause) == 0) {
            free(TAKE(parts->id));
            return 0;
        }
        if (!again || tries == ENDS_MAX) {
            *err = cause;
            return -1;
        }
        poll(NULL, 0, END_WAIT_MS << (tries - 1));
    }
}

/* Sends the whole file in parts. */
static int send_parts(struct cloud_upload *upload, const char *data, int64_t size,
                      enum store_put_mode how, struct error *err) {
    struct parts *parts = upload->own;
    int64_t count = 0;
    if (s3_begin_parts(upload->base.store, upload->name, upload->nonce, &parts->id, err) < 0) {
        return -1;
    }
    for (int64_t at = 0; at < size;) {
        struct cloud_piece pieces[PARTS_AT_ONCE];
        struct cloud_call calls[PARTS_AT_ONCE];
        size_t used = 0;
        for (; used < PARTS_AT_ONCE && at < size; used++) {
            pieces[used].index = count++;
            set_part_call(&pieces[used], upload->name, parts->id);
            calls[used] = pieces[used].call;
            calls[used].body = data + at;
            calls[used].body_size = (size_t)MIN(SPOOL_PART_BYTES, size - at);
            at += (int64_t)calls[used].body_size;
        }
        if (cloud_run(cloud_of(upload->base.store), calls, used, err) < 0) {
            return -1;
        }
        for (size_t i = 0; i < used; i++) {
            pieces[i].call = calls[i];
            s3_piece_done(upload, &pieces[i]);
        }
    }
    return complete(upload, count, how, err);
}

static int commit_file(struct cloud_upload *upload, enum store_put_mode how, struct error *err) {
    struct store *base = upload->base.store;
    int64_t size = upload->base.size_bytes;
    if (how == STORE_CREATE && size > PUT_BYTES_MAX) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "%s/%s: has %lld bytes, at most %lld are expected: this server ignores "
                         "If-None-Match: * at the end of an upload in parts, so an object that "
                         "must not replace another is sent in one request",
                         base->path, upload->name, (long long)size, (long long)PUT_BYTES_MAX);
    }
    if (how == STORE_REPLACE && size > S3_PARTS_MAX * SPOOL_PART_BYTES) {
        return error_set(err, ERROR_INVALID, "%s/%s: more than %d parts", base->path, upload->name,
                         S3_PARTS_MAX);
    }
    char *data = fflush(upload->spool) == 0
                     ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fileno(upload->spool), 0)
                     : MAP_FAILED;
    if (data == MAP_FAILED) {
        return error_from_errno(err, errno, "%s/%s: its copy in $TMPDIR", base->path, upload->name);
    }
    int result = how == STORE_CREATE
                     ? cloud_put_whole(base, upload->name, data, (size_t)size, how, err)
                     : send_parts(upload, data, size, how, err);
    munmap(data, (size_t)size);
    return result;
}

int s3_commit(struct cloud_upload *upload, enum store_put_mode how, struct error *err) {
    return upload->spool ? commit_file(upload, how, err)
                         : complete(upload, upload->pieces, how, err);
}
