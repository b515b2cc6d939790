/* cloud_store.h: a folder of a container of a service over HTTP as a store (store.h), shared by the
 * files that implement it: cloud_store.c opens and reads, cloud_write.c writes, cloud_list.c lists.
 * What a service does its own way is in cloud_service.h. */
#pragma once

#include "agent/store/cloud/cloud_client.h"
#include "agent/store/store_ops.h"

#include <stdio.h>

/* Larger objects are read in ranges, and written in pieces, of this size. */
#define CLOUD_PIECE_BYTES ((int64_t)8 << 20)

struct cloud_service;

struct cloud_store {
    struct store base;
    const struct cloud_service *service;
    struct cloud_place *place; /* owned */
    struct cloud_account *account;
};

static inline struct cloud_account *cloud_of(struct store *store) {
    return ((struct cloud_store *)store)->account;
}
static inline const struct cloud_service *cloud_service_of(struct store *store) {
    return ((struct cloud_store *)store)->service;
}

/* What all services' open does with a place that was read; it takes the place, also when it fails.
 * shown: the path without slashes at its end. */
NODISCARD int cloud_store_open(const struct cloud_service *service, struct cloud_place *place,
                               const char *shown, bool writes, struct store **ret_store,
                               struct error *err);

/* A piece of an upload: filled, then sent while the next one is filled. */
struct cloud_piece {
    struct cloud_call call;
    char id[40]; /* the service's, of the call */
    int64_t index;
    char *data;
    size_t room;
    bool is_sent; /* sent, and its result not handled yet */
};

enum { CLOUD_UPLOAD_SLOTS = 4, CLOUD_NONCE_CHARACTERS = 16 };
struct cloud_upload {
    struct store_upload base;
    char *name, *nonce; /* the nonce: random, of this writer */
    struct cloud_client *client;
    struct cloud_piece slots[CLOUD_UPLOAD_SLOTS];
    struct cloud_piece *filling;
    size_t filled;
    int64_t pieces; /* number sent so far */
    bool has_begun; /* the service's begin was called */
    FILE *spool;    /* a file that gets the pieces, which are then not sent; NULL: none */
    void *own;      /* the service's */
};

void cloud_free(struct store *base);
struct store_abilities cloud_features(const struct store *base);
int cloud_probe(struct store *base, int timeout_ms, struct error *err);
int cloud_stat(struct store *base, const char *name, struct store_info *ret_info,
               struct error *err);
int cloud_ask(struct store *base, struct store_asked *objects, size_t count, struct error *err);
int cloud_get(struct store *base, const char *name, struct buffer *buffer,
              struct store_info *ret_info, struct error *err);
int cloud_read(struct store *base, const char *name, const struct store_piece *piece,
               size_t *ret_size, struct error *err);
void cloud_peek(struct store *base, struct store_peeked *objects, size_t count);
int cloud_put(struct store *base, const char *name, const void *data, size_t size,
              enum store_put_mode how, struct error *err);
int cloud_put_whole(struct store *base, const char *name, const void *data, size_t size,
                    enum store_put_mode how, struct error *err); /* in one request */
int cloud_remove(struct store *base, const char *name, struct error *err);
int cloud_clear(struct store *base, const char *prefix, struct error *err);
int cloud_upload_open(struct store *base, const char *name, struct store_upload **ret_upload,
                      struct error *err);
int cloud_upload_add(struct store_upload *base, const void *data, size_t size, struct error *err);
int cloud_upload_commit(struct store_upload *base, enum store_put_mode how, struct error *err);
void cloud_upload_free(struct store_upload *base);
int cloud_list_all(struct store *base, const char *prefix, const char *after, store_each *each,
                   void *context, struct error *err);
int cloud_list(struct store *base, const char *prefix, const char *after, store_each *each,
               void *context, struct error *err);
