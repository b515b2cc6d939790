/* store_ops.h: what a kind of store implements; store.h has the contract of each function. store.c
 * has checked names, sizes and the right to write before it calls, so that kinds need not. */
#pragma once

#include "agent/store/store_many.h"

struct store_ops {
    const char *prefix; /* of this kind's paths: "az://"; "": all others */
    /* How many parts behind the prefix name a container or bucket: ACCOUNT/CONTAINER 2, BUCKET 1.
     */
    int place_parts;
    int (*open)(const char *spec_path, bool writes, struct store **ret_store, struct error *err);
    /* store_probe_path; NULL: opening has a time limit. */
    int (*try_path)(const char *spec_path, int timeout_ms, struct error *err);
    void (*free)(struct store *store);
    struct store_abilities (*features)(const struct store *store);
    int (*probe)(struct store *store, int timeout_ms, struct error *err);
    int (*get)(struct store *store, const char *name, struct buffer *buffer,
               struct store_info *ret_info, struct error *err);
    int (*read)(struct store *store, const char *name, const struct store_piece *piece,
                size_t *ret_size, struct error *err);
    int (*stat)(struct store *store, const char *name, struct store_info *ret_info,
                struct error *err);
    /* NULL: store.c uses stat. */
    int (*ask)(struct store *store, struct store_asked *objects, size_t count, struct error *err);
    void (*peek)(struct store *store, struct store_peeked *objects, size_t count); /* or NULL */
    int (*put)(struct store *store, const char *name, const void *data, size_t size,
               enum store_put_mode how, struct error *err);
    int (*remove)(struct store *store, const char *name, struct error *err);
    /* Returns 0 also if `each` stopped it. */
    int (*list)(struct store *store, const char *prefix, const char *after, store_each *each,
                void *context, struct error *err);
    /* NULL: list passes infos already. */
    int (*list_infos)(struct store *store, const char *prefix, const char *after, store_each *each,
                      void *context, struct error *err);
    int (*list_all)(struct store *store, const char *prefix, const char *after, store_each *each,
                    void *context, struct error *err);
    /* NULL: store.c uses list and remove; for remove_leftovers: writers never leave anything. */
    int (*clear)(struct store *store, const char *prefix, struct error *err);
    int (*remove_leftovers)(struct store *store, struct error *err);
    int (*upload_open)(struct store *store, const char *name, struct store_upload **ret_upload,
                       struct error *err);
    int (*upload_add)(struct store_upload *upload, const void *data, size_t size,
                      struct error *err);
    int (*upload_commit)(struct store_upload *upload, enum store_put_mode how, struct error *err);
    void (*upload_free)(struct store_upload *upload);
};

/* First member of every kind's struct. store.c sets ops, path and writes after open; free frees the
 * kind's fields and the struct itself. */
struct store {
    const struct store_ops *ops;
    char *path; /* owned by store.c; without slashes at the end */
    bool writes;
};

/* First member of every kind's upload. store.c sets all fields. */
struct store_upload {
    struct store *store; /* borrowed */
    int64_t size_bytes;  /* added so far, kept by store.c */
};

/* How much of a name a listing passes on: STORE_NAME_MAX bytes at most, and whole characters if it
 * is text. Pure. */
size_t store_shown_size(const char *name);

/* For kinds that wrap another store (a test's): what store_open does after a kind's open. */
void store_init(struct store *store, const struct store_ops *ops, const char *path, bool writes);

/* NULL: unknown kind of path. */
const struct store_ops *store_ops_of(const char *spec_path);
extern const struct store_ops path_store_ops, azure_store_ops, s3_store_ops, google_store_ops;
