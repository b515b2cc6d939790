/* source.h: the objects that an input's path names: one file, or those of a folder and its
 * subfolders whose names match a pattern (pattern.h), in the order of their bytes. Used by input
 * kinds. One thread. */
#pragma once

#include "agent/store/store.h"

struct source {
    struct store *store; /* the folder, or the one that the file is in */
    char *file;          /* its name there; NULL: a folder */
};

/* spec_path: VOLUME/path or az://...; errors begin with it. Release in any case. */
NODISCARD int source_open(const char *spec_path, struct source *ret_source, struct error *err);
void source_release(struct source *source); /* for AUTO, too */

/* -1 with *err ends the listing. */
typedef int source_each(void *context, const char *name, struct error *err);
/* From the first name behind `after` (NULL: all). A file that is named itself need not match.
 * INVALID: a name that matches is not UTF-8. */
NODISCARD int source_list(const struct source *source, const char *pattern, const char *after,
                          source_each *each, void *context, struct error *err);
