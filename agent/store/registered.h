/* registered.h: models that are stored by name and version, each with all that it needs, complete
 * or not at all, as objects of a store:
 *
 *   NAME/VERSION/...            files of a training's output, but those below .windlass/
 *   NAME/VERSION/metadata.json  what is known of it; written last: a version is there when this is
 *   NAME/latest                 VERSION and a newline: which one is the newest
 *
 * Versions are compared as texts, and begin with a time (20261122T094400Z-1a2b3c4d). A writer that
 * starts again, or beside another, writes the same bytes: nothing is removed or renamed. */
#pragma once

#include "agent/store/store.h"
#include "lib/tree.h"

#define REGISTERED_LATEST "latest"
#define REGISTERED_METADATA "metadata.json"

enum {
    REGISTERED_VERSION_MAX = 63,
    REGISTERED_FILES_MAX = 10000,
};

struct registered_wish {
    struct store *from, *to; /* borrowed; from: the training's output */
    const char *name, *version;
    const json_t *metadata; /* an object; "files": [{"name", "size", "sha256"}] is added */
};

/* Does what is not done yet; every file is read again and its sum compared. A version that is there
 * stays as it is, and `latest` never goes back to an older one; text in it that is not an existing
 * version is ignored. INVALID: the wish, an output without files or with too many; others: what a
 * store says, another try may do. A file metadata.json of the output's own becomes
 * metadata.original.json. */
NODISCARD int registered_copy(const struct registered_wish *wish, struct error *err);

/* The version that NAME/latest names; "": there is no such object, or it names none. */
NODISCARD int registered_latest(struct store *store, const char *name_latest,
                                char ret_version[static REGISTERED_VERSION_MAX + 1],
                                struct error *err);
/* Letters, digits, "-", "_", "." and none of them first that is a ".". */
bool registered_is_version(const char *text);
