/* blob_list.h: parses the response of List Blobs. Pure; entries point into the text. */
#pragma once

#include "agent/store/cloud/cloud_service.h"

/* Reads the text, which it overwrites. *ret_marker points into it: where the next page begins; ""
 * for the last page. UNAVAILABLE: not a list of blobs. */
NODISCARD int blob_list_read(char *text, size_t size, cloud_each *each, void *context,
                             const char **ret_marker, struct error *err);
