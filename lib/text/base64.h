/* base64.h: base64 as in JSON and YAML (RFC 4648, standard alphabet, padded). Pure. */
#pragma once

#include "lib/error.h"

/* Decodes, skipping white space. *ret_data is followed by a NUL that *ret_size does not count; the
 * caller frees. INVALID: not base64. */
NODISCARD int base64_decode(const char *text, char **ret_data, size_t *ret_size, struct error *err);

/* Encodes into one line; the caller frees. */
char *base64_encode(const void *data, size_t size);
