// SPDX-License-Identifier: Apache-2.0
/* Nothing is made of a Sweep yet (not_yet.c): it says so. */
#include "operator/kinds/sweep/reconcile.h"

#include "operator/kinds/job/outcome.h"
#include "operator/kinds/job/status_write.h"
#include "operator/kinds/sweep/spec.h"

#include <stdlib.h>
#include <string.h>

/* Kept between looks: "namespace/name" -> see status_write.h. */
struct state {
    json_t *sweeps;
};

static void *state_new(void) {
    struct state *state = x_calloc(1, sizeof *state);
    state->sweeps = json_object();
    return state;
}

static void state_free(void *opaque) {
    struct state *state = opaque;
    json_decref(state->sweeps);
    free(state);
}

static int reconcile(void *opaque, struct reconcile *request, struct error *err) {
    (void)err;
    const struct state *state = opaque;
    AUTO(text_freep) char *key = x_printf("%s/%s", request->namespace, request->name);
    if (!request->object || tree_get(request->object, "metadata.deletionTimestamp")) {
        json_object_del(state->sweeps, key);
        return 0;
    }
    struct error why = {0};
    struct outcome outcome = {0};
    if (sweep_check(request->object, &why) < 0) {
        outcome_set(&outcome, OUTCOME_FAILED, "SpecInvalid", "%s", why.text);
    } else if (sweep_not_yet(request->object, &why) < 0) {
        outcome_set(&outcome, OUTCOME_UNDER_WAY, "NotSupported", "%s", why.text);
        outcome_stall(&outcome, "NotSupported", outcome.message);
    }
    AUTO(tree_freep)
    json_t *status = outcome_is_finished(request->object)
                         ? outcome_seen(request->object)
                         : outcome_status(request->object, NULL, &outcome, request->wall_ms);
    status_write(request, tree_part(state->sweeps, key), status);
    return 0;
}

static void wrote(void *opaque, const struct written *written) {
    const struct state *state = opaque;
    AUTO(text_freep) char *key = x_printf("%s/%s", written->namespace, written->name);
    status_note(tree_part(state->sweeps, key), written);
}

static const char *const owned[] = {"v1 Pod", NULL};

const struct kind sweep_kind = {
    .api_version = "windlass.dev/v1alpha1",
    .name = "Sweep",
    .owned = owned,
    .state_new = state_new,
    .state_free = state_free,
    .reconcile = reconcile,
    .wrote = wrote,
};
