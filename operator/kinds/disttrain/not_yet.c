// SPDX-License-Identifier: Apache-2.0
/* What crds/disttrain.yaml describes and this version does not carry out: refused by its name, by
 * `windlass check`, `windlass run` and the controller. Whoever builds it takes its row away.
 *
 * trainer, minWorkers, hangSeconds on a cluster: no kubelet has run such pods yet. */
#include "operator/kinds/disttrain/spec.h"

#include <string.h>

static bool differs(const json_t *spec, const char *field, const char *standard) {
    const char *value = tree_text(spec, field, standard);
    return strcmp(value, standard) != 0;
}

static bool is_smaller(const json_t *spec) {
    return tree_integer(spec, "minWorkers", INT64_MAX) < tree_integer(spec, "workers", 1);
}

int disttrain_not_yet(const json_t *object, bool is_here, struct error *err) {
    const json_t *spec = json_object_get(object, "spec");
    bool is_trainer = tree_get(spec, "trainer") != NULL;
    const struct {
        const char *field;
        bool is_asked_for;
        bool is_here, is_there; /* this machine, a cluster carries it out */
    } rows[] = {
        {"minWorkers", is_smaller(spec), true, false},
        {"restart.hangSeconds", tree_integer(spec, "restart.hangSeconds", 0) > 0, true, false},
        {"trainer.precision", differs(spec, "trainer.precision", "FP32"), false, false},
        {"gpus", is_trainer && tree_integer(spec, "gpus", 0) > 0, false, false},
        {"trainer", is_trainer, true, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *elsewhere = rows[i].is_here    ? " on a cluster, but for `windlass run`"
                                : rows[i].is_there ? " on this machine, but on a cluster"
                                                   : "";
        if (rows[i].is_asked_for && !(is_here ? rows[i].is_here : rows[i].is_there)) {
            return error_set(err, ERROR_INVALID,
                             "spec.%s: is described, but Windlass " WINDLASS_VERSION
                             " does not carry it out yet%s; no pods are made "
                             "(docs/disttrain-plan.md says what is still to be built)",
                             rows[i].field, elsewhere);
        }
    }
    return 0;
}
