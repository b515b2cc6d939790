/* manifest.h: a text file that names inputs, one a line, read in pieces. Used by input kinds. */
#pragma once

#include "agent/store/store.h"

/* path: below the input's folder, borrowed; mark: where its line ends. -1 with *err ends it. */
typedef int manifest_each(void *context, const char *path, const char *mark, struct error *err);

/* spec_path: VOLUME/path or az://...; after: a mark, or NULL. Empty lines are skipped; CRLF is LF;
 * a UTF-8 mark at the start is skipped. INVALID, with the byte: a line that is not the name of an
 * object (store.h) in UTF-8; the file has changed since the mark was made; the manifest is empty.
 */
NODISCARD int manifest_read(const char *spec_path, const char *after, manifest_each *each,
                            void *context, struct error *err);
