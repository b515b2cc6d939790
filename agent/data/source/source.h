/* source.h: the objects that an input's path names: one file, or those of a folder and its
 * subfolders whose names match a pattern (name_pattern.h), in byte order of the names. Used by
 * input kinds. One thread. */
#pragma once

#include "agent/store/store.h"

typedef void source_leave(void *context, const char *name);

struct source {
    struct store *store; /* the folder, or the folder of the file */
    char *file;          /* the file's name in the store; NULL: a folder */
    /* Called by source_list for what it leaves out: names that begin with a dot and would match the
     * pattern otherwise, folders that begin with a dot, and what is not a file; NULL: not asked. */
    source_leave *leave;
    void *leave_context;
};

/* spec_path: a path (store.h); errors begin with it. Call source_release even after a
 * failure. */
NODISCARD int source_open(const char *spec_path, struct source *ret_source, struct error *err);
void source_release(struct source *source); /* for AUTO, too */

/* A source_leave: adds 1 to an int64_t. */
void source_leave_count(void *count, const char *name);
/* -1 with *err ends the listing. */
typedef int source_each(void *context, const char *name, struct error *err);
/* Calls `each` for the names after `after` (NULL: all). A path that names a file need not match the
 * pattern. INVALID: a matching name is not UTF-8. */
NODISCARD int source_list(const struct source *source, const char *pattern, const char *after,
                          source_each *each, void *context, struct error *err);
