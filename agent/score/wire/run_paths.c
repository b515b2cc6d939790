// SPDX-License-Identifier: Apache-2.0
#include "agent/score/wire/run_paths.h"

#include "agent/store/moving_paths.h"
#include "agent/store/published/published.h"

static const char *const fields[] = {"scorer.onnx.path",
                                     "scorer.onnx.postprocess.labels",
                                     "scorer.onnx.tokenizer.path",
                                     "input.video.path",
                                     "input.files.path",
                                     "input.files.manifest",
                                     "input.table.path",
                                     "input.npy.path",
                                     NULL};

int run_paths_find(const json_t *spec, json_t **ret_paths, struct error *err) {
    return moving_paths_find(spec, fields, NULL, ret_paths, err);
}

bool run_paths_has_published(const json_t *spec) {
    for (const char *const *field = fields; *field; field++) {
        if (published_is(tree_text(spec, *field, ""))) {
            return true;
        }
    }
    return false;
}

void run_paths_apply(json_t *spec, const json_t *paths) {
    moving_paths_apply(spec, fields, paths);
}
