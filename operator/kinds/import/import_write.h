/* import_write.h: an import as the text of a manifest, with its notes as comments. Pure. */
#pragma once

#include "operator/kinds/import/import_notes.h"

/* kind: which the manifest is of; from: what it was made of, "a job.json of Batch AI". *ret_text
 * (owned) is YAML. INVALID: it is longer than a manifest may be. */
NODISCARD int import_write(const struct import *import, const char *kind, const char *from,
                           char **ret_text, struct error *err);
