/* batch_manifest.h: the manifest of a batch file in OpenAI's form. */
#pragma once

#include "lib/error.h"

struct batch_manifest {
    const char *url;
    const char *name, *output;     /* NULL: by the file's name */
    const char *concurrency, *key; /* key: "SECRET/KEY"; NULL: the default, none */
};

/* True: path is a regular file whose first line, not counting empty ones, is a request: an object
 * with custom_id and body. Keeps no more than that line, of at most 64 MiB, in memory. */
bool batch_manifest_is_of(const char *path);
/* *ret_text, *ret_folder (NULL: not wanted): the manifest, and the folder that its volume "work"
 * is; the caller owns both. INVALID: the file cannot be read, the key has another form, or the
 * manifest would be refused. */
NODISCARD int batch_manifest_make(const struct batch_manifest *batch, const char *path,
                                  char **ret_text, char **ret_folder, struct error *err);
/* Whether a kind of this build takes batch files. */
bool batch_manifest_is_possible(void);
