// SPDX-License-Identifier: Apache-2.0
/* An object of at most one block is written by one request, a larger one as blocks, whose names are
 * unique to this writer, and a list of them. Every request may be repeated: a block replaces
 * itself, and the list names the latest version of each, uncommitted or, after a lost response,
 * committed. The service drops blocks that are not in a list after a week. */
#include "agent/store/azure/azure_folder.h"

#include "lib/digest.h"
#include "lib/text/base64.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NONCE_CHARACTERS = 16,
    BLOCK_ID_BYTES = 40,
    UPLOAD_SLOTS = 4,
    LIST_BYTES_MAX = 8 << 20,
    CLEAR_AT_ONCE = 64
};

int64_t azure_block_bytes(int64_t index) {
    int64_t pieces = index < 10000 ? 1 : index < 30000 ? 8 : 20;
    return pieces * AZURE_PIECE_BYTES;
}

/* All ids have the same length, as the service requires. */
static void block_id(const char *nonce, int64_t index, char id[static BLOCK_ID_BYTES]) {
    char name[NONCE_CHARACTERS + 9];
    snprintf(name, sizeof name, "%.16s-%07u", nonce, (unsigned)index % 10000000);
    AUTO(text_freep) char *encoded = base64_encode(name, strlen(name));
    snprintf(id, BLOCK_ID_BYTES, "%s", encoded);
}

static struct azure_call block_call(const char *name, const char *id, const char *data,
                                    size_t size) {
    return (struct azure_call){.method = "PUT",
                               .name = name,
                               .parameters = {{"blockid", id}, {"comp", "block"}},
                               .body = data,
                               .body_size = size};
}

static int commit_blocks(struct store *base, const char *name, const char *nonce, int64_t count,
                         enum store_put_mode how, struct error *err) {
    AUTO(buffer_release) struct buffer list;
    struct error full = {0};
    buffer_init(&list, LIST_BYTES_MAX);
    int result =
        buffer_printf(&list, &full, "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>");
    for (int64_t i = 0; i < count && result == 0; i++) {
        char id[BLOCK_ID_BYTES];
        block_id(nonce, i, id);
        result = buffer_printf(&list, &full, "<Latest>%s</Latest>", id);
    }
    if (result < 0 || buffer_printf(&list, &full, "</BlockList>") < 0) {
        return error_set(err, ERROR_BUG, "%s/%s: %s", base->path, name, full.text);
    }
    struct azure_call call = {.method = "PUT",
                              .name = name,
                              .parameters = {{"comp", "blocklist"}},
                              .if_none_match = how == STORE_CREATE ? "*" : NULL,
                              .body = list.data,
                              .body_size = list.size};
    return azure_run(azure_of(base), &call, 1, err);
}

static int put_blob(struct store *base, const char *name, const void *data, size_t size,
                    enum store_put_mode how, struct error *err) {
    struct azure_call call = {.method = "PUT",
                              .name = name,
                              .blob_type = "BlockBlob",
                              .if_none_match = how == STORE_CREATE ? "*" : NULL,
                              .body = size ? data : "",
                              .body_size = size};
    return azure_run(azure_of(base), &call, 1, err);
}

int azure_put(struct store *base, const char *name, const void *data, size_t size,
              enum store_put_mode how, struct error *err) {
    enum { BLOCKS_MAX = STORE_PUT_MAX / AZURE_PIECE_BYTES + 1 };
    if ((int64_t)size <= AZURE_PIECE_BYTES) {
        return put_blob(base, name, data, size, how, err);
    }
    struct azure_call calls[BLOCKS_MAX];
    char ids[BLOCKS_MAX][BLOCK_ID_BYTES];
    AUTO(text_freep) char *nonce = digest_random(NONCE_CHARACTERS / 2);
    size_t count = 0;
    for (size_t at = 0; at < size; at += (size_t)AZURE_PIECE_BYTES, count++) {
        size_t piece = MIN((size_t)AZURE_PIECE_BYTES, size - at);
        block_id(nonce, (int64_t)count, ids[count]);
        calls[count] = block_call(name, ids[count], (const char *)data + at, piece);
    }
    return azure_run(azure_of(base), calls, count, err) < 0
               ? -1
               : commit_blocks(base, name, nonce, (int64_t)count, how, err);
}

int azure_remove(struct store *base, const char *name, struct error *err) {
    struct azure_call call = {.method = "DELETE", .name = name, .accepts = 404};
    return azure_run(azure_of(base), &call, 1, err);
}

/* Names to remove. Each needs a request, so several are sent at once. */
struct clearing {
    struct store *base;
    char *names[CLEAR_AT_ONCE];
    size_t count;
};

static int remove_all(struct clearing *clearing, struct error *err) {
    struct azure_call calls[CLEAR_AT_ONCE];
    for (size_t i = 0; i < clearing->count; i++) {
        calls[i] =
            (struct azure_call){.method = "DELETE", .name = clearing->names[i], .accepts = 404};
    }
    int result = azure_run(azure_of(clearing->base), calls, clearing->count, err);
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

int azure_clear(struct store *base, const char *prefix, struct error *err) {
    struct clearing clearing = {.base = base};
    struct error cause = {0};
    int result = azure_list(base, prefix, NULL, clear_name, &clearing, err);
    int removed = remove_all(&clearing, &cause); /* names found so far are removed even after an
                                                    error */
    if (result == 0 && removed < 0) {
        *err = cause;
    }
    return result < 0 ? -1 : removed;
}

/* ---- uploads -------------------------------------------------------------------------------- */

/* A block that is filled, then sent while the next one is filled. */
struct slot {
    struct azure_call call;
    char id[BLOCK_ID_BYTES];
    char *data;
    size_t room;
    bool is_sent; /* sent, and its result not handled yet */
};

struct azure_upload {
    struct store_upload base;
    char *name, *nonce;
    struct azure_client *client;
    struct slot slots[UPLOAD_SLOTS];
    struct slot *filling;
    size_t filled;
    int64_t blocks; /* blocks that were sent */
};

int azure_upload_open(struct store *base, const char *name, struct store_upload **ret_upload,
                      struct error *err) {
    struct azure_client *client = NULL;
    if (azure_client_take(azure_of(base), &client, err) < 0) {
        return -1;
    }
    struct azure_upload *upload = x_calloc(1, sizeof *upload);
    upload->client = client;
    upload->name = x_strdup(name);
    upload->nonce = digest_random(NONCE_CHARACTERS / 2);
    *ret_upload = &upload->base;
    return 0;
}

void azure_upload_free(struct store_upload *base) {
    struct azure_upload *upload = (struct azure_upload *)base;
    azure_client_give(upload->client); /* must be first, since it borrows the slots */
    for (size_t i = 0; i < UPLOAD_SLOTS; i++) {
        free(upload->slots[i].data);
    }
    free(upload->name);
    free(upload->nonce);
    free(upload);
}

/* Collects the finished slots; -1 when one of them failed. */
static int collect(struct azure_upload *upload, struct error *err) {
    for (size_t i = 0; i < UPLOAD_SLOTS; i++) {
        struct slot *slot = &upload->slots[i];
        if (slot->is_sent && slot->call.is_over) {
            if (!azure_call_is_good(&slot->call)) {
                return azure_refuse(azure_of(upload->base.store), &slot->call, err);
            }
            slot->is_sent = false;
        }
    }
    return 0;
}

/* Waits until one is free, with room for the next block. */
static int find_slot(struct azure_upload *upload, struct error *err) {
    size_t room = (size_t)azure_block_bytes(upload->blocks);
    struct slot *slot = NULL;
    if (upload->blocks == AZURE_BLOCKS_MAX) {
        return error_set(err, ERROR_INVALID, "%s/%s: more than %d blocks", upload->base.store->path,
                         upload->name, AZURE_BLOCKS_MAX);
    }
    if (azure_wait(upload->client, UPLOAD_SLOTS - 1, err) < 0 || collect(upload, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < UPLOAD_SLOTS && !slot; i++) {
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

static void send_block(struct azure_upload *upload) {
    struct slot *slot = TAKE(upload->filling);
    block_id(upload->nonce, upload->blocks++, slot->id);
    slot->call = block_call(upload->name, slot->id, slot->data, upload->filled);
    slot->is_sent = true;
    upload->filled = 0;
    azure_start(upload->client, &slot->call);
}

int azure_upload_add(struct store_upload *base, const void *data, size_t size, struct error *err) {
    struct azure_upload *upload = (struct azure_upload *)base;
    for (const char *at = data; size;) {
        if (!upload->filling && find_slot(upload, err) < 0) {
            return -1;
        }
        size_t block = (size_t)azure_block_bytes(upload->blocks);
        size_t piece = MIN(size, block - upload->filled);
        memcpy(upload->filling->data + upload->filled, at, piece);
        upload->filled += piece;
        at += piece;
        size -= piece;
        if (upload->filled == block) {
            send_block(upload);
        }
    }
    return azure_look(upload->client, err);
}

int azure_upload_commit(struct store_upload *base, enum store_put_mode how, struct error *err) {
    struct azure_upload *upload = (struct azure_upload *)base;
    if (!upload->blocks) {
        const char *data = upload->filling ? upload->filling->data : "";
        return put_blob(base->store, upload->name, data, upload->filled, how, err);
    }
    if (upload->filled) {
        send_block(upload);
    }
    if (azure_wait(upload->client, 0, err) < 0 || collect(upload, err) < 0) {
        return -1;
    }
    return commit_blocks(base->store, upload->name, upload->nonce, upload->blocks, how, err);
}
