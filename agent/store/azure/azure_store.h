/* azure_store.h: Azure Blob Storage as a service of cloud_service.h, shared by the files that
 * implement it: azure_store.c opens, azure_sign.c signs, azure_write.c writes. azure_place.h has
 * the configuration. */
#pragma once

#include "agent/store/azure/azure_secret.h"
#include "agent/store/cloud/cloud_service.h"

/* The size of an upload's block: 8 MiB for the first 10,000 and larger afterwards, since an object
 * has at most 50,000 blocks. */
int64_t azure_block_bytes(int64_t index);
enum { AZURE_BLOCKS_MAX = 50000 };

void azure_sign(const struct cloud_place *base, const struct cloud_call *call,
                const struct cloud_grant *grant, int64_t wall_ms, struct cloud_signed *ret_signed);
int azure_put_blocks(struct store *base, const char *name, const void *data, size_t size,
                     enum store_put_mode how, struct error *err);
void azure_piece_call(struct cloud_upload *upload, int64_t index, struct cloud_piece *piece);
int azure_commit(struct cloud_upload *upload, enum store_put_mode how, struct error *err);
