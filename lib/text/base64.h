/* base64.h: base64 as it stands in JSON and YAML (RFC 4648, the common alphabet, padded). */
#pragma once

#include "lib/error.h"

/* Decodes; spaces and line breaks are skipped. *ret_data is followed by a NUL that is not counted,
 * the caller frees. Fails with INVALID on anything else that is no base64. */
NODISCARD int base64_decode(const char *text, char **ret_data, size_t *ret_size, struct error *err);

/* One line; the caller frees. */
char *base64_encode(const void *data, size_t size);
