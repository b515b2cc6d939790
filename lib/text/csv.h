/* csv.h: fields of CSV records (RFC 4180). */
#pragma once

#include "lib/buffer.h"

/* Appends one field, quoted if needed. Line ends become spaces, so that a record is one line; a
 * text that a spreadsheet would run as a formula gets a leading '. Invalid UTF-8 becomes U+FFFD. */
NODISCARD int csv_text(struct buffer *line, const char *text, size_t size, struct error *err);
