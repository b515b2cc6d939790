/* registered.h: models stored by name and version, as objects of a store; each is self-contained,
 * and complete or absent:
 *
 *   NAME/VERSION/...            files of a training's output, but those below .windlass/
 *   NAME/VERSION/metadata.json  describes the version; written last, so the version is complete
 *   NAME/VERSION/result.json    of the Sweep that registers it; written by its caller
 *   NAME/latest                 the newest VERSION, and a newline
 *
 * Versions are compared as strings, and begin with a time (20261122T094400Z-1a2b3c4d). A restarted
 * or a second writer writes the same bytes: nothing is removed or renamed. */
#pragma once

#include "agent/store/store.h"
#include "lib/tree.h"

#define REGISTERED_LATEST "latest"
#define REGISTERED_METADATA "metadata.json"

enum {
    REGISTERED_VERSION_MAX = 63,
    REGISTERED_FILES_MAX = 10000,
};

struct registered_request {
    struct store *from, *to; /* borrowed; from: the training's output */
    const char *name, *version;
    const json_t *metadata; /* an object; "files": [{"name", "size", "sha256"}] is added */
    const json_t *hashes;   /* {NAME: SHA-256} of files of the output; NULL: not known */
};

/* Completes the copy; every file is read again and its checksum compared. An existing version is
 * not changed, and `latest` never goes back to an older one; text in it that is not an existing
 * version is ignored. INVALID: the request, or an output without files or with too many, or in
 * which a file of `hashes` is missing or has another content; other errors are a store's, and
 * another try may succeed. The output's metadata.json and result.json become metadata.original.json
 * and result.original.json, and so do result.json's companions. */
NODISCARD int registered_copy(const struct registered_request *request, struct error *err);

/* Whether the version exists: registered_copy reads nothing of the output then. INVALID: the
 * request. */
NODISCARD int registered_is_done(const struct registered_request *request, bool *ret_is,
                                 struct error *err);

/* The version that NAME/latest names; "": the object does not exist, or names no version. */
NODISCARD int registered_latest(struct store *store, const char *name_latest,
                                char ret_version[static REGISTERED_VERSION_MAX + 1],
                                struct error *err);
/* True for letters, digits, "-", "_" and "."; the first must not be ".". */
bool registered_is_version(const char *text);
