// SPDX-License-Identifier: Apache-2.0
/* An object of at most one piece is written by one request, a larger one in pieces, as the service
 * does it. */
#include "agent/store/cloud/cloud_service.h"

#include "lib/digest.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CLEAR_AT_ONCE = 64 };

int cloud_put_whole(struct store *base, const char *name, const void *data, size_t size,
                    enum store_put_mode how, struct error *err) {
    struct cloud_call call = {.method = "PUT",
                              .name = name,
                              .if_none_match = how == STORE_CREATE ? "*" : NULL,
                              .body = size ? data : "",
                              .body_size = size};
    return cloud_run(cloud_of(base), &call, 1, err);
}

int cloud_put(struct store *base, const char *name, const void *data, size_t size,
              enum store_put_mode how, struct error *err) {
    const struct cloud_service *service = cloud_service_of(base);
    return service->put_large && (int64_t)size > CLOUD_PIECE_BYTES
               ? service->put_large(base, name, data, size, how, err)
               : cloud_put_whole(base, name, data, size, how, err);
}

int cloud_remove(struct store *base, const char *name, struct error *err) {
    struct cloud_call call = {.method = "DELETE", .name = name, .accepts = 404};
    return cloud_run(cloud_of(base), &call, 1, err);
}

/* Names to remove. Each needs a request, so several are sent at once. */
struct clearing {
    struct store *base;
    char *names[CLEAR_AT_ONCE];
    size_t count;
};

static int remove_all(struct clearing *clearing, struct error *err) {
    struct cloud_call calls[CLEAR_AT_ONCE];
    for (size_t i = 0; i < clearing->count; i++) {
        calls[i] =
            (struct cloud_call){.method = "DELETE", .name = clearing->names[i], .accepts = 404};
    }
    int result = cloud_run(cloud_of(clearing->base), calls, clearing->count, err);
    for (size_t i = 0; i < clearing->count; i++) {
        free(clearing->names[i]);
    }
    clearing->count = 0;
    return result;
}

static int clear_name(void *context, const char *name, const struct store_info *info,
                      struct error *err) {
    struct clearing *clearing = context;
    if (info->fault) { /* a name that none of ours has */
        return 0;
    }
    clearing->names[clearing->count++] = x_strdup(name);
    return clearing->count < CLEAR_AT_ONCE ? 0 : remove_all(clearing, err);
}

int cloud_clear(struct store *base, const char *prefix, struct error *err) {
    struct clearing clearing = {.base = base};
    struct error cause = {0};
    int result = cloud_list(base, prefix, NULL, clear_name, &clearing, err);
    int removed = remove_all(&clearing, &cause); /* names found so far are removed even after an
                                                    error */
    if (result == 0 && removed < 0) {
        *err = cause;
    }
    return result < 0 ? -1 : removed;
}

/* ---- uploads -------------------------------------------------------------------------------- */

int cloud_upload_open(struct store *base, const char *name, struct store_upload **ret_upload,
                      struct error *err) {
    struct cloud_client *client = NULL;
    if (cloud_client_take(cloud_of(base), &client, err) < 0) {
        return -1;
    }
    struct cloud_upload *upload = x_calloc(1, sizeof *upload);
    upload->client = client;
    upload->name = x_strdup(name);
    upload->nonce = digest_random(CLOUD_NONCE_CHARACTERS / 2);
    *ret_upload = &upload->base;
    return 0;
}

void cloud_upload_free(struct store_upload *base) {
    struct cloud_upload *upload = (struct cloud_upload *)base;
    cloud_client_give(upload->client); /* must be first, since it borrows the slots */
    if (upload->has_begun && cloud_service_of(base->store)->abandon) {
        cloud_service_of(base->store)->abandon(upload);
    }
    for (size_t i = 0; i < CLOUD_UPLOAD_SLOTS; i++) {
        free(upload->slots[i].data);
    }
    if (upload->spool) {
        fclose(upload->spool);
    }
    free(upload->name);
    free(upload->nonce);
    free(upload);
}

/* Collects the finished slots; -1 when one of them failed. */
static int collect(struct cloud_upload *upload, struct error *err) {
    const struct cloud_service *service = cloud_service_of(upload->base.store);
    for (size_t i = 0; i < CLOUD_UPLOAD_SLOTS; i++) {
        struct cloud_piece *slot = &upload->slots[i];
        if (slot->is_sent && slot->call.is_over) {
            if (!cloud_call_is_good(&slot->call)) {
                return cloud_refuse(cloud_of(upload->base.store), &slot->call, err);
            }
            if (service->piece_done) {
                service->piece_done(upload, slot);
            }
            slot->is_sent = false;
        }
    }
    return 0;
}

/* Waits until one is free, with room for the next piece. */
static int find_slot(struct cloud_upload *upload, struct error *err) {
    const struct cloud_service *service = cloud_service_of(upload->base.store);
    size_t room = (size_t)service->piece_bytes(upload->pieces);
    struct cloud_piece *slot = NULL;
    if (upload->pieces == service->pieces_max) {
        return error_set(err, ERROR_INVALID, "%s/%s: more than %lld pieces",
                         upload->base.store->path, upload->name, (long long)service->pieces_max);
    }
    if (cloud_wait(upload->client, CLOUD_UPLOAD_SLOTS - 1, err) < 0 || collect(upload, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < CLOUD_UPLOAD_SLOTS && !slot; i++) {
        slot = upload->slots[i].is_sent ? NULL : &upload->slots[i];
    }
    assert(slot);
    if (slot->room < room) {
        free(slot->data);
        slot->data = x_malloc(room);
        slot->room = room;
    }
    upload->filling = slot;
    upload->filled = 0;
    return 0;
}

static int spool_piece(struct cloud_upload *upload, const struct cloud_piece *slot,
                       struct error *err) {
    size_t size = upload->filled;
    upload->filled = 0;
    return fwrite(slot->data, 1, size, upload->spool) == size
               ? 0
               : error_from_errno(err, errno, "%s/%s: its copy in $TMPDIR",
                                  upload->base.store->path, upload->name);
}

static int send_piece(struct cloud_upload *upload, struct error *err) {
    const struct cloud_service *service = cloud_service_of(upload->base.store);
    if (!upload->has_begun && service->begin && service->begin(upload, err) < 0) {
        return -1;
    }
    upload->has_begun = true;
    struct cloud_piece *slot = TAKE(upload->filling);
    if (upload->spool) {
        upload->pieces++;
        return spool_piece(upload, slot, err);
    }
    slot->index = upload->pieces++;
    service->piece_call(upload, slot->index, slot);
    slot->is_sent = true;
    upload->filled = 0;
    cloud_start(upload->client, &slot->call);
    return 0;
}

int cloud_upload_add(struct store_upload *base, const void *data, size_t size, struct error *err) {
    struct cloud_upload *upload = (struct cloud_upload *)base;
    const struct cloud_service *service = cloud_service_of(base->store);
    for (const char *at = data; size;) {
        if (!upload->filling && find_slot(upload, err) < 0) {
            return -1;
        }
        size_t whole = (size_t)service->piece_bytes(upload->pieces);
        size_t piece = MIN(size, whole - upload->filled);
        memcpy(upload->filling->data + upload->filled, at, piece);
        upload->filled += piece;
        at += piece;
        size -= piece;
        if (upload->filled == whole && send_piece(upload, err) < 0) {
            return -1;
        }
    }
    return cloud_look(upload->client, err);
}

int cloud_upload_commit(struct store_upload *base, enum store_put_mode how, struct error *err) {
    struct cloud_upload *upload = (struct cloud_upload *)base;
    if (!upload->pieces) {
        const char *data = upload->filling ? upload->filling->data : "";
        return cloud_put_whole(base->store, upload->name, data, upload->filled, how, err);
    }
    if ((upload->filled && send_piece(upload, err) < 0) || cloud_wait(upload->client, 0, err) < 0 ||
        collect(upload, err) < 0) {
        return -1;
    }
    return cloud_service_of(base->store)->commit(upload, how, err);
}
