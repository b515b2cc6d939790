// SPDX-License-Identifier: Apache-2.0
/* What crds/disttrain.yaml describes and this version does not carry out: refused by its name, by
 * `windlass check`, `windlass run` and the controller. Whoever builds it takes its row away. */
#include "operator/kinds/disttrain/spec.h"

int disttrain_not_yet(const json_t *object, struct error *err) {
    const json_t *spec = json_object_get(object, "spec");
    bool is_trainer = tree_get(spec, "trainer") != NULL;
    const struct {
        const char *field;
        bool is_asked_for;
    } rows[] = {
        {"gpus", is_trainer && tree_integer(spec, "gpus", 0) > 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].is_asked_for) {
            return error_set(err, ERROR_INVALID,
                             "spec.%s: is described, but Windlass " WINDLASS_VERSION
                             " does not carry it out yet; no pods are made "
                             "(docs/disttrain-plan.md says what is still to be built)",
                             rows[i].field);
        }
    }
    return 0;
}
