/* blob_list.h: parses the response of List Blobs. It supports only the XML that the service writes:
 * no declarations, no CDATA. Pure; entries point into the text. */
#pragma once

#include "lib/error.h"

struct blob_entry {
    const char *name; /* in the container */
    int64_t size_bytes;
    const char *token;    /* ETag without quotes; "" if there is none */
    const char *modified; /* as the service writes it; "" if it is missing */
    bool is_folder;       /* of a hierarchical namespace, or left by a mount: not an object */
};

/* -1 with *err set ends the reading with that. The entry is valid until it returns. */
typedef int blob_each(void *context, const struct blob_entry *entry, struct error *err);

/* Reads the text, which it overwrites. *ret_marker points into it: where the next page begins; ""
 * for the last page. UNAVAILABLE: not a list of blobs. */
NODISCARD int blob_list_read(char *text, size_t size, blob_each *each, void *context,
                             const char **ret_marker, struct error *err);
