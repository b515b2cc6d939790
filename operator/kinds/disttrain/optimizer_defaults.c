// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/disttrain/optimizer_defaults.h"

#include "lib/base.h"

#include <string.h>

enum { FIELDS = 4 };

static const char *const fields[FIELDS] = {"learningRate", "weightDecay", "beta2", "epsilon"};

/* Those of PyTorch; of LAMB those of NVIDIA's FusedLAMB. For SGD and LARS these are what earlier
 * releases had, so that their runs keep their names. */
static const struct row {
    const char *kind;
    const char *values[FIELDS];
} rows[] = {
    {"SGD", {"0.1", "0", "0.999", "1e-8"}},       {"LARS", {"0.1", "0", "0.999", "1e-8"}},
    {"Adam", {"0.001", "0", "0.999", "1e-8"}},    {"AdamW", {"0.001", "0.01", "0.999", "1e-8"}},
    {"LAMB", {"0.001", "0.01", "0.999", "1e-6"}}, {"RMSprop", {"0.01", "0", "0.99", "1e-8"}},
    {"Adagrad", {"0.01", "0", "0.999", "1e-10"}},
};

void optimizer_defaults_fill(json_t *trainer) {
    json_t *optimizer = json_object_get(trainer, "optimizer");
    const char *kind = tree_text(optimizer, "kind", "");
    for (size_t i = 0; optimizer && i < ARRAY_LEN(rows); i++) {
        for (size_t k = 0; strcmp(rows[i].kind, kind) == 0 && k < FIELDS; k++) {
            if (!json_object_get(optimizer, fields[k])) {
                json_object_set_new(optimizer, fields[k], json_string(rows[i].values[k]));
            }
        }
    }
}
