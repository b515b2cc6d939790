/* oci.h: the distribution protocol of OCI registries, as far as published.c needs it. */
#pragma once

#include "agent/store/published/published_http.h"

/* oci://REGISTRY/NAME:TAG[/FILE] or @sha256:HEX in place of the tag; all owned. */
struct oci_place {
    char *registry, *name;
    char *reference; /* "TAG" or "sha256:HEX" */
    char *file;      /* NULL: the only one */
};
/* False: not such a path. Pure. */
bool oci_place_read(const char *path, struct oci_place *ret_place);
void oci_place_release(struct oci_place *place); /* also for AUTO; accepts a zeroed one */
bool oci_is_digest(const char *text);            /* "sha256:" and 64 lower-case hex digits */

struct oci_blob {
    char digest[72]; /* "sha256:HEX" */
    int64_t size_bytes;
    char *url;           /* owned */
    char *authorization; /* owned; NULL: none is needed */
};
void oci_blob_release(struct oci_blob *blob);

/* The digest of what a reference names now: of a manifest or an index. NOT_FOUND, DENIED; INVALID:
 * it is not a manifest, or its digest differs. Errors do not name the path. */
NODISCARD int oci_resolve(struct published_client *client, const struct oci_place *place,
                          char ret_digest[static 72], struct error *err);
/* The blob of the file. INVALID also: an index of several, no such layer, or several. */
NODISCARD int oci_find(struct published_client *client, const struct oci_place *place,
                       struct oci_blob *ret_blob, struct error *err);
