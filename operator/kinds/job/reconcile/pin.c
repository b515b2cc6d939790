// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/pin.h"

#include "lib/time/clock.h"
#include "operator/kinds/job/conditions.h"
#include "operator/kinds/job/spec.h"

#include <stdlib.h>
#include <string.h>

enum {
    AGAIN_MS = 60000,   /* after a question that failed */
    POSTPONE_MS = 1000, /* of the second status */
};

void pin_release(struct pin *pin) {
    json_decref(pin->revision);
    json_decref(pin->accepted);
    free(pin->asked_hash);
    *pin = (struct pin){0};
}

/* ---- what the job began with ---- */

/* False: the answer is not here yet. */
static bool ask(struct reconcile *request, struct pin *pin) {
    const char *hash = tree_text(request->object, "status.specHash", "");
    bool is_due = !pin->is_asked && request->monotonic_ms >= pin->again_ms;
    if (!pin->asked_hash || strcmp(pin->asked_hash, hash) != 0) {
        free(pin->asked_hash);
        pin->asked_hash = x_strdup(hash);
        json_decref(TAKE(pin->accepted));
        pin->is_answered = false;
        is_due = !pin->is_asked;
    }
    if (!pin->is_answered && is_due) {
        AUTO(tree_freep) json_t *like = accepted_revision(request->object, hash);
        pin->is_asked = reconcile_find(request, like);
        return false; /* the end of this question, or of another, leads to a pass */
    }
    return !pin->is_asked;
}

bool pin_settle(struct reconcile *request, struct pin *pin, const char *const *mutable_fields,
                json_t **ret_object) {
    const json_t *object = request->object;
    *ret_object = NULL;
    pin->fields[0] = 0;
    if (conditions_is_finished(object) || !accepted_is_changed(object, mutable_fields)) {
        return true;
    }
    if (!ask(request, pin)) {
        return false;
    }
    AUTO(tree_freep) json_t *revision = json_pack("{s:{s:O*}}", "data", "spec", pin->accepted);
    const json_t *spec = accepted_read(revision, mutable_fields, pin->asked_hash);
    if (spec) {
        accepted_tell_fields(object, spec, mutable_fields, pin->fields);
        *ret_object = accepted_apply(object, spec, mutable_fields);
    }
    return true;
}

void pin_found(struct pin *pin, const struct found *found) {
    pin->is_asked = false;
    pin->is_answered = !found->err;
    pin->again_ms = clock_monotonic_ms() + AGAIN_MS;
    json_decref(TAKE(pin->accepted));
    pin->accepted = json_incref(tree_get(found->object, "data.spec"));
}

/* ---- the revision ---- */

static bool has_first(const json_t *create, const char *kind) {
    for (size_t i = 0; i < json_array_size(create); i++) {
        if (strcmp(tree_text(json_array_get(create, i), "kind", ""), kind) == 0) {
            return true;
        }
    }
    return false;
}

void pin_add(struct reconcile *request, struct pin *pin, const char *const *mutable_fields,
             const char *first, json_t *create) {
    const json_t *object = request->object;
    if (!tree_get(object, "status.specHash") && has_first(create, first)) {
        char hash[65];
        job_hash(json_object_get(object, "spec"), mutable_fields, hash);
        json_decref(pin->revision);
        pin->revision = accepted_revision(object, hash);
        pin->begun_ms = pin->begun_ms > 0 ? pin->begun_ms : request->monotonic_ms;
    }
    if (pin->revision) {
        json_array_append(create, pin->revision);
    }
}

void pin_note(struct pin *pin, const struct written *written) {
    bool is_there = !written->err || written->err->kind == ERROR_CONFLICT;
    if (pin->revision && is_there &&
        strcmp(tree_text(written->object, "kind", ""), "ControllerRevision") == 0) {
        json_decref(TAKE(pin->revision));
    }
}

bool pin_postpones(const struct reconcile *request, const struct pin *pin, const json_t *status) {
    const json_t *before = tree_get(request->object, "status.credentials.created");
    const json_t *succeeded = tree_find(json_object_get(status, "conditions"), "type", "Succeeded");
    return pin->begun_ms > 0 && request->monotonic_ms < pin->begun_ms + POSTPONE_MS &&
           json_is_false(before) && tree_bool(status, "credentials.created", false) &&
           strcmp(tree_text(succeeded, "reason", ""), "Pending") == 0;
}
