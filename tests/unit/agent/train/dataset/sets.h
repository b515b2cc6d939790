/* sets.h: data sets for the tests of agent/train, opened from JSON. */
#pragma once

#include "agent/train/dataset/dataset.h"
#include "tests/agent_defaults.h"
#include "tests/test.h"

#include <stdlib.h>

/* Returns NULL, with *err set, if it is refused. */
UNUSED static struct dataset *open_set(const char *text, const struct dataset_options *options,
                                       struct error *err) {
    struct dataset *dataset = NULL;
    json_error_t where;
    json_t *spec = json_loads(text, JSON_DECODE_ANY, &where);
    if (!spec) {
        printf("# %s: %s\n", text, where.text);
        abort();
    }
    fill_part("crds/disttrain.yaml", "spec.trainer.data.train", spec);
    int result = dataset_open(spec, options, &dataset, err);
    json_decref(spec);
    return result < 0 ? NULL : dataset;
}

UNUSED static struct dataset *must_open(const char *text, const struct dataset_options *options) {
    struct error err = {0};
    struct dataset *dataset = open_set(text, options, &err);
    if (!dataset) {
        printf("not ok %s: %s\n", text, err.text);
        exit(1);
    }
    return dataset;
}
