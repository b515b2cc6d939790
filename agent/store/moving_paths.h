/* moving_paths.h: what the paths of a spec lead to while it is run. A path may lead elsewhere from
 * one moment to the next: FOLDER/latest/FILE, where FOLDER/latest is an object that names a version
 * (registered.h), and a path with a symbolic link. A run resolves such paths once, and all its
 * processes, also those that start later, open what they led to then.
 *
 * The paths are an object {"registry/net/latest/model.onnx": "registry/net/7/model.onnx"}: as the
 * spec has it -> what it led to; others are not in it. A link to a folder whose name begins with
 * ".." is kept: what a kubelet mounts of a ConfigMap has such a one, and in each pod another. */
#pragma once

#include "agent/store/store.h"
#include "lib/tree.h"

enum { MOVING_PATHS_TEXT_MAX = 256 };

/* Where what has been found is recorded, each reference once, as an object that is created
 * exclusively: the first that asks decides for all. Both are borrowed. */
struct moving_pins {
    struct store *store;
    const char *prefix; /* ".windlass/paths/" */
};

/* Resolves those of the fields ("scorer.onnx.path"; the list ends with NULL) that the spec has.
 * `latest` of a folder is read once for all of them. A path that leads to nothing is left as it is.
 * pins: NULL: as of now. *ret_paths: owned; may be empty. Blocks. UNAVAILABLE, TIMEOUT: a storage
 * does not answer; with pins any error of that store. */
NODISCARD int moving_paths_find(const json_t *spec, const char *const *fields,
                                const struct moving_pins *pins, json_t **ret_paths,
                                struct error *err);
/* Replaces these fields' texts in place. paths: NULL is fine. */
void moving_paths_apply(json_t *spec, const char *const *fields, const json_t *paths);
/* How a path of the spec has moved: "latest is now 8, was 7"; "leads to v8 now, led to v7". "": it
 * has not, or that is not known. then, now: objects as above; NULL is fine. */
void moving_paths_describe(const char *spec_path, const json_t *then, const json_t *now,
                           char text[static MOVING_PATHS_TEXT_MAX]);
