// SPDX-License-Identifier: Apache-2.0
/* An object of at most one block is written by one request, a larger one as blocks, whose names are
 * unique to this writer, and a list of them. Every request may be repeated: a block replaces
 * itself, and the list names the latest version of each, uncommitted or, after a lost response,
 * committed. The service drops blocks that are not in a list after a week. */
#include "agent/store/azure/azure_store.h"

#include "lib/buffer.h"
#include "lib/digest.h"
#include "lib/text/base64.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK_ID_BYTES = sizeof((struct cloud_piece *)0)->id, LIST_BYTES_MAX = 8 << 20 };

int64_t azure_block_bytes(int64_t index) {
    int64_t pieces = index < 10000 ? 1 : index < 30000 ? 8 : 20;
    return pieces * CLOUD_PIECE_BYTES;
}

/* All ids have the same length, as the service requires. */
static void block_id(const char *nonce, int64_t index, char id[static BLOCK_ID_BYTES]) {
    char name[CLOUD_NONCE_CHARACTERS + 9];
    snprintf(name, sizeof name, "%.16s-%07u", nonce, (unsigned)index % 10000000);
    AUTO(text_freep) char *encoded = base64_encode(name, strlen(name));
    snprintf(id, BLOCK_ID_BYTES, "%s", encoded);
}

static struct cloud_call block_call(const char *name, const char *id, const char *data,
                                    size_t size) {
    return (struct cloud_call){.method = "PUT",
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
    struct cloud_call call = {.method = "PUT",
                              .name = name,
                              .parameters = {{"comp", "blocklist"}},
                              .if_none_match = how == STORE_CREATE ? "*" : NULL,
                              .body = list.data,
                              .body_size = list.size};
    return cloud_run(cloud_of(base), &call, 1, err);
}

int azure_put_blocks(struct store *base, const char *name, const void *data, size_t size,
                     enum store_put_mode how, struct error *err) {
    enum { BLOCKS_MAX = STORE_PUT_MAX / CLOUD_PIECE_BYTES + 1 };
    struct cloud_call calls[BLOCKS_MAX];
    char ids[BLOCKS_MAX][BLOCK_ID_BYTES];
    AUTO(text_freep) char *nonce = digest_random(CLOUD_NONCE_CHARACTERS / 2);
    size_t count = 0;
    for (size_t at = 0; at < size; at += (size_t)CLOUD_PIECE_BYTES, count++) {
        size_t piece = MIN((size_t)CLOUD_PIECE_BYTES, size - at);
        block_id(nonce, (int64_t)count, ids[count]);
        calls[count] = block_call(name, ids[count], (const char *)data + at, piece);
    }
    return cloud_run(cloud_of(base), calls, count, err) < 0
               ? -1
               : commit_blocks(base, name, nonce, (int64_t)count, how, err);
}

void azure_piece_call(struct cloud_upload *upload, int64_t index, struct cloud_piece *piece) {
    block_id(upload->nonce, index, piece->id);
    piece->call = block_call(upload->name, piece->id, piece->data, upload->filled);
}

int azure_commit(struct cloud_upload *upload, enum store_put_mode how, struct error *err) {
    return commit_blocks(upload->base.store, upload->name, upload->nonce, upload->pieces, how, err);
}
