// SPDX-License-Identifier: Apache-2.0
/* What crds/sweep.yaml describes and this version does not carry out: refused by `windlass check`,
 * `windlass run` and the controller. Whoever builds it takes its row away. */
#include "operator/kinds/sweep/spec.h"

int sweep_not_yet(const json_t *object, struct error *err) {
    (void)object;
    return error_set(err, ERROR_INVALID,
                     "spec: is right, but Windlass " WINDLASS_VERSION
                     " does not carry out Sweeps yet; no trials are made "
                     "(docs/sweep-plan.md says what is still to be built)");
}
