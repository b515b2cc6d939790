/* input_manifest.h: a text file that names inputs, one per line; it is read in pieces. Used by
 * input kinds. */
#pragma once

#include "agent/store/store.h"

/* path: below the input's folder, borrowed; cursor: where its line ends. -1 with *err ends the
 * reading. */
typedef int input_manifest_each(void *context, const char *path, const char *cursor,
                                struct error *err);

/* spec_path: a path (store.h); after: a cursor, or NULL. Empty lines and a UTF-8 byte order
 * mark at the start are skipped; CRLF counts as LF. INVALID, with the byte: a line is not an
 * object's name (store.h) in UTF-8; the file has changed since the cursor was made; the manifest is
 * empty. */
NODISCARD int input_manifest_read(const char *spec_path, const char *after,
                                  input_manifest_each *each, void *context, struct error *err);
