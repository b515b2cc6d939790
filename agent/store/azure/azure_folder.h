/* azure_folder.h: a folder of a container of Azure Blob Storage as a store (store.h), shared by the
 * files that implement it: azure_store.c opens and reads, azure_write.c writes, azure_list.c lists.
 * azure_place.h has the configuration. */
#pragma once

#include "agent/store/azure/azure_client.h"
#include "agent/store/store_ops.h"

/* Larger objects are read in ranges, and written in blocks, of this size. */
#define AZURE_PIECE_BYTES ((int64_t)8 << 20)

struct azure_folder {
    struct store base;
    struct azure_place place;
    struct azure_account *account;
};

static inline struct azure_account *azure_of(struct store *store) {
    return ((struct azure_folder *)store)->account;
}

/* The size of an upload's block: 8 MiB for the first 10,000 and larger afterwards, since an object
 * has at most 50,000 blocks. */
int64_t azure_block_bytes(int64_t index);
enum { AZURE_BLOCKS_MAX = 50000 };

int azure_put(struct store *base, const char *name, const void *data, size_t size,
              enum store_put_mode how, struct error *err);
int azure_remove(struct store *base, const char *name, struct error *err);
int azure_clear(struct store *base, const char *prefix, struct error *err);
int azure_upload_open(struct store *base, const char *name, struct store_upload **ret_upload,
                      struct error *err);
int azure_upload_add(struct store_upload *base, const void *data, size_t size, struct error *err);
int azure_upload_commit(struct store_upload *base, enum store_put_mode how, struct error *err);
void azure_upload_free(struct store_upload *base);
int azure_list_all(struct store *base, const char *prefix, const char *after, store_each *each,
                   void *context, struct error *err);
int azure_list(struct store *base, const char *prefix, const char *after, store_each *each,
               void *context, struct error *err);
