// SPDX-License-Identifier: Apache-2.0
#include "agent/data/input/media.h"

#include <string.h>

int media_find(const json_t *spec, const struct media **ret_media, struct error *err) {
    for (const struct media *const *kind = media_kinds; *kind; kind++) {
        if (json_object_get(tree_get(spec, "input"), (*kind)->name)) {
            *ret_media = *kind;
            return 0;
        }
    }
    return error_set(err, ERROR_INVALID, "spec.input: one of video, files, table, npy is expected");
}

bool media_makes_pictures(const json_t *spec) {
    const json_t *post = tree_get(spec, "scorer.onnx.postprocess");
    return !tree_get(spec, "scorer.command") &&
           (strcmp(tree_text(post, "type", ""), "Image") == 0 || tree_bool(post, "draw", false));
}
