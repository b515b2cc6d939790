/* input_manifest.h: a text file that names inputs, one per line; it is read in pieces. Used by
 * input kinds. */
#pragma once

#include "agent/store/store.h"

/* path: below the input's folder, borrowed; it may not be UTF-8. fault: NULL, or why it
 * cannot be an object's name: it is longer than STORE_NAME_MAX, and cut, or has more than
 * STORE_DEPTH_MAX parts. cursor: where its line ends. -1 with *err ends the reading. */
typedef int input_manifest_each(void *context, const char *path, const char *fault,
                                const char *cursor, struct error *err);

/* spec_path: a path (store.h); after: a cursor, or NULL. Empty lines and a UTF-8 byte order
 * mark at the start are skipped; CRLF counts as LF. INVALID, with the byte: a line
 * leads out of the folder, or cannot be a path for another reason than these two (up to 32 KiB);
 * the file has changed since the cursor was made; the manifest is empty. */
NODISCARD int input_manifest_read(const char *spec_path, const char *after,
                                  input_manifest_each *each, void *context, struct error *err);
