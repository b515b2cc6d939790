// SPDX-License-Identifier: Apache-2.0
#include "agent/store/cloud/cloud_store.h"

#include "agent/store/cloud/cloud_service.h"
#include "lib/time/clock.h"

#include <stdlib.h>
#include <string.h>

enum { RANGES_AT_ONCE = 64, READ_AGAIN_MAX = 3, PEEKS_AT_ONCE = 16 };

void cloud_free(struct store *base) {
    struct cloud_store *store = (struct cloud_store *)base;
    cloud_account_free(store->account);
    store->service->place_free(store->place);
    free(store);
}

int cloud_store_open(const struct cloud_service *service, struct cloud_place *place,
                     const char *shown, bool writes, struct store **ret_store, struct error *err) {
    struct cloud_store *store = x_calloc(1, sizeof *store);
    store->service = service;
    store->place = place;
    store->account = cloud_account_new(service, place, shown);
    if (writes && place->is_read_only) {
        error_set(err, ERROR_DENIED, "%s: this %s", shown, service->read_only);
    } else {
        (void)service->probe(store, writes, /* deadline_ms= */ 0, err);
    }
    if (err->kind) {
        cloud_free(&store->base);
        return -1;
    }
    *ret_store = &store->base;
    return 0;
}

struct store_abilities cloud_features(const struct store *base UNUSED) {
    return (struct store_abilities){.creates = true, .is_local = false};
}

int cloud_probe(struct store *base, int timeout_ms, struct error *err) {
    return cloud_service_of(base)->probe((struct cloud_store *)base, base->writes,
                                         clock_monotonic_ms() + timeout_ms, err);
}

/* ---- reading -------------------------------------------------------------------------------- */

int cloud_stat(struct store *base, const char *name, struct store_info *ret_info,
               struct error *err) {
    struct cloud_call call = {.method = "HEAD", .name = name};
    if (cloud_run(cloud_of(base), &call, 1, err) < 0) {
        return -1;
    }
    if (call.is_folder) {
        return error_set(err, ERROR_INVALID, "%s/%s: is a folder, not an object", base->path, name);
    }
    if (call.size_bytes < 0 || !*call.token) {
        return error_set(err, ERROR_UNAVAILABLE, "%s/%s: the response has no size", base->path,
                         name);
    }
    *ret_info = (struct store_info){.size_bytes = call.size_bytes, .modified_ns = call.modified_ns};
    memcpy(ret_info->token, call.token, sizeof call.token);
    return 0;
}

/* An object that cannot be there, like one with a name that is too long, is absent:
 * reading it gives the reason. */
static int note_asked(struct cloud_account *account, const struct cloud_call *call,
                      struct store_asked *object, struct error *err) {
    struct error cause = {0};
    object->info = (struct store_info){0};
    object->is_known = true;
    if (call->status == 404) {
        return 0;
    }
    if (!cloud_call_is_good(call)) {
        cloud_refuse(account, call, &cause);
        *err = cause.kind == ERROR_INVALID ? *err : cause;
        return cause.kind == ERROR_INVALID ? 0 : -1;
    }
    if (!call->is_folder) {
        object->info.size_bytes = call->size_bytes;
        object->info.modified_ns = call->modified_ns;
        memcpy(object->info.token, call->token, sizeof call->token);
        object->is_known = *call->token;
    }
    return 0;
}

int cloud_ask(struct store *base, struct store_asked *objects, size_t count, struct error *err) {
    struct cloud_call calls[STORE_ASK_MAX];
    AUTO(cloud_client_givep) struct cloud_client *client = NULL;
    if (cloud_client_take(cloud_of(base), &client, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        calls[i] = (struct cloud_call){.method = "HEAD", .name = objects[i].name, .accepts = 404};
        if (cloud_wait(client, PEEKS_AT_ONCE - 1, err) < 0) {
            return -1;
        }
        cloud_start(client, &calls[i]);
    }
    if (cloud_wait(client, 0, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        if (note_asked(cloud_of(base), &calls[i], &objects[i], err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Reads the bytes of a piece in several requests at once, all of the object with the piece's token.
 * *ret_size_bytes: of the whole object; -1: the piece is beyond its end. */
static int read_pieces(struct store *base, const char *name, const struct store_piece *piece,
                       int64_t *ret_size_bytes, struct error *err) {
    int64_t end = piece->offset + (int64_t)piece->size;
    *ret_size_bytes = -1;
    for (int64_t at = piece->offset; at < end;) {
        struct cloud_call calls[RANGES_AT_ONCE];
        size_t count = 0;
        for (; count < RANGES_AT_ONCE && at < end; count++) {
            int64_t size = MIN(CLOUD_PIECE_BYTES, end - at);
            calls[count] = (struct cloud_call){.method = "GET",
                                               .name = name,
                                               .if_match = piece->token,
                                               .first_byte = at,
                                               .range_size = size,
                                               .into = (char *)piece->data + (at - piece->offset),
                                               .room = (size_t)size,
                                               .accepts = 416};
            at += size;
        }
        int result = cloud_run(cloud_of(base), calls, count, err);
        for (size_t i = 0; i < count; i++) {
            if (calls[i].status == 206) {
                *ret_size_bytes = calls[i].size_bytes;
            }
        }
        if (result < 0) {
            return -1;
        }
    }
    return 0;
}

/* Reads a piece in one request, and the object's properties. If the range is empty (416), the size
 * is requested; if the range has bytes by then, everything is repeated. */
static int read_first(struct store *base, const char *name, const struct store_piece *piece,
                      struct store_info *ret_info, size_t *ret_size, struct error *err) {
    for (int again = 0; again < READ_AGAIN_MAX; again++) {
        struct cloud_call call = {.method = "GET",
                                  .name = name,
                                  .if_match = piece->token,
                                  .first_byte = piece->offset,
                                  .range_size = (int64_t)piece->size,
                                  .into = piece->data,
                                  .room = piece->size,
                                  .accepts = 416};
        if (cloud_run(cloud_of(base), &call, 1, err) < 0) {
            return -1;
        }
        if (call.status == 206) {
            *ret_info =
                (struct store_info){.size_bytes = call.size_bytes, .modified_ns = call.modified_ns};
            memcpy(ret_info->token, call.token, sizeof call.token);
            *ret_size = call.received;
            return 0;
        }
        if (cloud_stat(base, name, ret_info, err) < 0) {
            return -1;
        }
        if (piece->token && strcmp(piece->token, ret_info->token) != 0) {
            return error_set(err, ERROR_CONFLICT, "%s/%s: has changed since it was listed",
                             base->path, name);
        }
        if (ret_info->size_bytes <= piece->offset) {
            *ret_size = 0;
            return 0;
        }
    }
    return error_set(err, ERROR_UNAVAILABLE, "%s/%s: changes faster than it can be read",
                     base->path, name);
}

int cloud_get(struct store *base, const char *name, struct buffer *buffer,
              struct store_info *ret_info, struct error *err) {
    /* Reading one byte more than fits detects a larger object. */
    size_t room = MIN((size_t)CLOUD_PIECE_BYTES, buffer->max - buffer->size + 1), size = 0;
    AUTO(text_freep) char *first = x_malloc(room);
    char *rest = NULL;
    struct store_info info = {0};
    struct error full = {0};
    int64_t again_bytes;
    if (read_first(base, name, &(struct store_piece){0, first, room, NULL}, &info, &size, err) <
        0) {
        return -1;
    }
    size_t more = (size_t)info.size_bytes - size;
    if (info.size_bytes > (int64_t)(buffer->max - buffer->size) ||
        buffer_append(buffer, first, size, &full) < 0 ||
        (more && buffer_extend(buffer, more, &rest, &full) < 0)) {
        return error_set(err, ERROR_INVALID, "%s/%s: %lld bytes, larger than the limit of %zu",
                         base->path, name, (long long)info.size_bytes, buffer->max);
    }
    const struct store_piece others = {(int64_t)size, rest, more, info.token};
    if (more && read_pieces(base, name, &others, &again_bytes, err) < 0) {
        return -1;
    }
    if (ret_info) {
        *ret_info = info;
    }
    return 0;
}

int cloud_read(struct store *base, const char *name, const struct store_piece *piece,
               size_t *ret_size, struct error *err) {
    struct store_info info = {0};
    struct store_piece rest = *piece; /* what is not read yet */
    size_t got = 0;
    int64_t end = piece->offset + (int64_t)piece->size, size_bytes = -1;
    if (!piece->size) {
        return cloud_stat(base, name, &info, err) < 0 ? -1 : (*ret_size = 0, 0);
    }
    if (!piece->token || piece->size <= (size_t)CLOUD_PIECE_BYTES) {
        rest.size = MIN(piece->size, (size_t)CLOUD_PIECE_BYTES);
        if (read_first(base, name, &rest, &info, &got, err) < 0) {
            return -1;
        }
        end = MIN(end, info.size_bytes);
        if (got < rest.size || piece->offset + (int64_t)got >= end) {
            *ret_size = got;
            return 0;
        }
        rest = (struct store_piece){piece->offset + (int64_t)got, (char *)piece->data + got,
                                    (size_t)(end - piece->offset) - got, info.token};
    }
    if (read_pieces(base, name, &rest, &size_bytes, err) < 0) {
        return -1;
    }
    if (size_bytes < 0) { /* the whole piece is after the end, so the token was not checked */
        struct store_piece byte = *piece;
        byte.size = 1;
        byte.token = rest.token;
        return read_first(base, name, &byte, &info, ret_size, err);
    }
    *ret_size = (size_t)(MIN(end, size_bytes) - piece->offset);
    return 0;
}

void cloud_peek(struct store *base, struct store_peeked *objects, size_t count) {
    struct cloud_call calls[STORE_PEEK_MAX];
    AUTO(cloud_client_givep) struct cloud_client *client = NULL;
    struct error ignored = {0};
    if (cloud_client_take(cloud_of(base), &client, &ignored) < 0) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        calls[i] = (struct cloud_call){.method = "GET",
                                       .name = objects[i].name,
                                       .range_size = (int64_t)objects[i].room,
                                       .into = objects[i].data,
                                       .room = objects[i].room};
        if (cloud_wait(client, PEEKS_AT_ONCE - 1, &ignored) < 0) {
            return;
        }
        cloud_start(client, &calls[i]);
    }
    if (cloud_wait(client, 0, &ignored) < 0) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        objects[i].size = calls[i].received;
        objects[i].is_whole =
            calls[i].status == 206 && calls[i].size_bytes == (int64_t)calls[i].received;
        memcpy(objects[i].token, calls[i].token, sizeof objects[i].token);
    }
}
