/* s3_store.h: Amazon S3, servers that speak its protocol, and Google's Cloud Storage, whose XML
 * interface differs from it in a few words, as services of cloud_service.h, shared by the files
 * that implement them: s3_store.c opens, s3_sign.c signs, s3_exclusive.c finds out what a server
 * guarantees, s3_write.c writes. s3_place.h has the configuration. */
#pragma once

#include "agent/store/cloud/cloud_service.h"
#include "agent/store/s3/s3_place.h"

/* Signature Version 4, the payload unsigned, or a token: requests are over TLS. */
void s3_sign(const struct cloud_place *base, const struct cloud_call *call,
             const struct cloud_grant *grant, int64_t wall_ms, struct cloud_signed *ret_signed);

/* A page of ListObjectsV2; contract as cloud_service.h's read_page. */
NODISCARD int s3_list_read(char *text, size_t size, cloud_each *each, void *context,
                           const char **ret_marker, struct error *err);

/* UNSUPPORTED: the server overwrites objects that are to be made once. Asked once per process and
 * folder, by making an object twice in it and removing it. */
NODISCARD int s3_check_exclusive(struct cloud_store *store, int64_t deadline_ms, struct error *err);
/* 1: an upload in parts can be made once, too; 0: it cannot; -1. Asked once, as above. */
NODISCARD int s3_completes_exclusively(struct cloud_store *store, struct error *err);

/* An upload in parts. begin: the caller frees *ret_id. */
NODISCARD int s3_begin_parts(struct store *base, const char *name, const char *nonce, char **ret_id,
                             struct error *err);
void s3_abort_parts(struct store *base, const char *name, const char *id);
/* The size of an upload's part: 8 MiB for the first 2,000 and larger afterwards, since an object
 * has at most 10,000. */
int64_t s3_part_bytes(int64_t index);
enum { S3_PARTS_MAX = 10000 };

int s3_begin(struct cloud_upload *upload, struct error *err);
void s3_piece_call(struct cloud_upload *upload, int64_t index, struct cloud_piece *piece);
void s3_piece_done(struct cloud_upload *upload, const struct cloud_piece *piece);
int s3_commit(struct cloud_upload *upload, enum store_put_mode how, struct error *err);
void s3_abandon(struct cloud_upload *upload);
