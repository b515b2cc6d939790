/* utf16.h: UTF-16 in this machine's order, as ODBC's functions take and give it. Pure. */
#pragma once

#include "lib/buffer.h"

#include <stdint.h>

/* Of UTF-8; invalid bytes become U+FFFD. Ends with a 0. *ret_count: without it; may be NULL. The
 * caller frees. */
uint16_t *utf16_from_text(const char *text, size_t *ret_count);
/* Appends `count` units as UTF-8; a surrogate without its other half becomes U+FFFD. */
NODISCARD int utf16_append(struct buffer *text, const uint16_t *units, size_t count,
                           struct error *err);
