/* spec_defaults.h: for tests that write a BatchScore's spec by hand: adds the defaults of
 * crds/batchscore.yaml, which the operator has filled in in the spec of a pod. */
#pragma once

#include "lib/tree.h"

/* Adds the fields of `defaults` that the object at `path` lacks; nothing if there is no object. */
static inline void spec_default(json_t *spec, const char *path, const char *defaults) {
    AUTO(tree_freep) json_t *fields = json_loads(defaults, 0, NULL);
    json_object_update_missing(tree_get(spec, path), fields);
}

/* Returns spec. */
static inline json_t *spec_fill(json_t *spec) {
    spec_default(spec, "input.files", "{\"pattern\": \"*\", \"order\": \"Name\"}");
    spec_default(spec, "input.npy", "{\"pattern\": \"*.npy\"}");
    spec_default(spec, "input.table",
                 "{\"pattern\": \"*\", \"format\": \"CSV\", \"header\": true}");
    spec_default(spec, "scorer.onnx", "{\"preprocess\": {}, \"postprocess\": {}}");
    spec_default(spec, "scorer.onnx.preprocess",
                 "{\"multipleOf\": 1, \"color\": \"RGB\", \"range\": \"Byte\"}");
    spec_default(spec, "scorer.onnx.postprocess",
                 "{\"type\": \"Image\", \"range\": \"Byte\", \"top\": 5}");
    spec_default(spec, "scorer.command",
                 "{\"processesPerWorker\": 1, \"initTimeoutSeconds\": 600}");
    spec_default(spec, "retry", "{\"maxTries\": 3, \"timeoutSeconds\": 60}");
    spec_default(spec, "output", "{\"mode\": \"PerFile\"}");
    return spec;
}
