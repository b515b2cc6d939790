/* moving_paths.h: resolves the paths of a spec whose target may change while the job runs, once per
 * run, so that all processes of the run open the same files, also those that start later. Such
 * paths are FOLDER/latest/FILE, where FOLDER/latest is an object that names a version
 * (registered.h), paths with a symbolic link, and files that were published (published.h): a tag of
 * a registry, and https:// with the SHA-256 of the field beside it.
 *
 * The paths are an object {"registry/net/latest/model.onnx": "registry/net/7/model.onnx"}: the
 * spec's path -> its target; paths that cannot change are not in it. A link to a folder whose name
 * begins with ".." is not resolved: a mounted ConfigMap has such a link, which differs in each pod.
 */
#pragma once

#include "agent/store/store.h"
#include "lib/tree.h"

enum { MOVING_PATHS_TEXT_MAX = 256 };

/* Where the targets are recorded: one object per path, created exclusively, so that the first
 * process decides for all. Both are borrowed. */
struct moving_pins {
    struct store *store;
    const char *prefix; /* ".windlass/paths/" */
};

/* Resolves those of the fields ("scorer.onnx.path"; the list ends with NULL) that the spec has.
 * `latest` of a folder is read once for all of them. A path that leads to nothing is left as it is.
 * pins: NULL: as of now. *ret_paths: owned; may be empty. Blocks. UNAVAILABLE, TIMEOUT: a storage
 * does not answer; with pins any error of that store; those of published_pin. */
NODISCARD int moving_paths_find(const json_t *spec, const char *const *fields,
                                const struct moving_pins *pins, json_t **ret_paths,
                                struct error *err);
/* Replaces these fields' texts in place. paths may be NULL. */
void moving_paths_apply(json_t *spec, const char *const *fields, const json_t *paths);
/* Records what a reference leads to, *led (owned), unless that was done before; then *led becomes
 * what was recorded first. Blocks; fails with any error of the store. */
NODISCARD int moving_paths_pin(const struct moving_pins *pins, const char *reference, char **led,
                               struct error *err);
/* How a path of the spec has moved: "latest is now 8, was 7"; "leads to v8 now, led to v7". "": it
 * has not, or that is not known. then, now: objects as above, or NULL. */
void moving_paths_describe(const char *spec_path, const json_t *then, const json_t *now,
                           char text[static MOVING_PATHS_TEXT_MAX]);
