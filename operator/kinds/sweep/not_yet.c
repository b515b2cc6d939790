// SPDX-License-Identifier: Apache-2.0
/* What crds/sweep.yaml describes and this version does not carry out: refused by its name, by
 * `windlass check` and the controller. Whoever builds it takes its row away. */
#include "operator/kinds/sweep/spec.h"

int sweep_not_yet(const json_t *object, struct error *err) {
    static const char *const fields[] = {"register"};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (json_object_get(json_object_get(object, "spec"), fields[i])) {
            return error_set(err, ERROR_INVALID,
                             "spec.%s: is described, but Windlass " WINDLASS_VERSION
                             " does not carry it out yet; no trials are made (docs/sweep-plan.md "
                             "says what is still to be built)",
                             fields[i]);
        }
    }
    return 0;
}
