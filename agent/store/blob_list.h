/* blob_list.h: the answer of List Blobs: as much of XML as the service writes, and no more: no
 * declarations, no CDATA. Pure; memory is the text's own. */
#pragma once

#include "lib/error.h"

struct blob_entry {
    const char *name; /* as the container has it */
    int64_t size_bytes;
    const char *token;    /* ETag without quotes; "" when it tells none */
    const char *modified; /* as the service writes it; "" when it does not */
    bool is_folder;       /* of a hierarchical namespace, or left by a mount: no object */
};

/* -1 with *err set ends the reading with that. The entry is valid until it returns. */
typedef int blob_each(void *context, const struct blob_entry *entry, struct error *err);

/* Reads the text, which it overwrites. *ret_marker, in it: where the next page begins; "" at the
 * last. UNAVAILABLE: not a list of blobs. */
NODISCARD int blob_list_read(char *text, size_t size, blob_each *each, void *context,
                             const char **ret_marker, struct error *err);
