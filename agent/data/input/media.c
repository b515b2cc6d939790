// SPDX-License-Identifier: Apache-2.0
#include "agent/data/input/media.h"

#include "agent/data/rows/single_row.h"

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

static bool is_of_type(const json_t *spec, const char *type) {
    return !tree_get(spec, "scorer.command") &&
           strcmp(tree_text(spec, "scorer.onnx.postprocess.type", ""), type) == 0;
}

bool media_makes_pictures(const json_t *spec) {
    return is_of_type(spec, "Image") || is_of_type(spec, "Mask") ||
           tree_bool(spec, "scorer.onnx.postprocess.draw", false);
}

const char *media_result_ending(const json_t *spec) {
    bool is_mask =
        is_of_type(spec, "Mask") && !tree_bool(spec, "scorer.onnx.postprocess.draw", false);
    const char *of_rows = single_row_ending(spec);
    return is_mask ? ".png" : media_makes_pictures(spec) ? "" : of_rows ? of_rows : ".json";
}
