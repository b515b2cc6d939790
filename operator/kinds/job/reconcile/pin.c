// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/pin.h"

#include "lib/time/clock.h"
#include "operator/kinds/job/conditions.h"
#include "operator/kinds/job/owned.h"
#include "operator/kinds/job/pod_phase.h"
#include "operator/kinds/job/reconcile/status_write.h"
#include "operator/kinds/job/spec_snapshot.h"
#include "operator/object.h"

#include <stdlib.h>
#include <string.h>

enum {
    AGAIN_MS = 60000,  /* after a question, or a record's write, that failed */
    SOON_MS = 2000,    /* the same after the first question that failed, then doubling */
    FAILURES_TOLD = 3, /* this many questions fail before a job counts as one without its spec */
    REPLACED_MS = 500,
    TAKE_MS = 30000, /* a job that was resumed waits so long for a change to be stored */
};

static const char kind_name[] = "ControllerRevision";

void pin_release(struct pin *pin) {
    json_decref(pin->revision);
    json_decref(pin->holder);
    json_decref(pin->accepted);
    free(pin->asked_hash);
    *pin = (struct pin){0};
}

/* ---- what is to be stored ---- */

static void want(struct pin *pin, const json_t *object, const char *hash, int slot) {
    json_decref(pin->revision);
    pin->revision = accepted_revision(object, hash, slot);
    pin->revision_slot = slot;
    memcpy(pin->revision_hash, hash, sizeof pin->revision_hash);
    pin->store = PIN_WRITE;
}

static void drop(struct pin *pin, bool is_stored) {
    if (pin->change == PIN_STORING) {
        pin->change = is_stored ? PIN_STORED : PIN_REFUSED;
    }
    json_decref(TAKE(pin->revision));
}

/* Under a name that a foreign object has it cannot be stored. A change has but one name: under the
 * other is the spec that counts until the status has moved. */
static void next_name(struct pin *pin) {
    json_t *revision = pin->revision;
    if (*pin->next_hash || pin->revision_slot + 1 >= ACCEPTED_SLOTS) {
        drop(pin, false);
        return;
    }
    const json_t *owner = tree_get(revision, "metadata.ownerReferences[0]");
    AUTO(text_freep)
    char *name = accepted_name(tree_text(owner, "name", ""), tree_text(owner, "uid", ""),
                               pin->revision_hash, ++pin->revision_slot);
    json_object_set_new(json_object_get(revision, "metadata"), "name", json_string(name));
    pin->store = PIN_WRITE;
}

static bool is_of_revision(const struct pin *pin, const json_t *object) {
    return pin->revision && strcmp(tree_text(object, "kind", ""), kind_name) == 0 &&
           strcmp(tree_text(object, "metadata.name", ""),
                  tree_text(pin->revision, "metadata.name", "")) == 0;
}

/* Who has the name of what is to be stored. */
static void decide_store(struct pin *pin, const struct found *found) {
    const char *uid = tree_text(pin->revision, "metadata.ownerReferences[0].uid", "");
    if (found->err) {
        pin->store = PIN_IN_DOUBT;
        pin->failures++;
        pin->again_ms = clock_monotonic_ms() + AGAIN_MS;
    } else if (!found->object) {
        pin->store = PIN_WRITE;
    } else if (!object_is_owned_by(found->object, uid)) {
        next_name(pin);
    } else if (accepted_read(found->object, pin->rules->mutable_fields, pin->revision_hash)) {
        drop(pin, true);
    } else {
        pin->holder = json_incref((json_t *)found->object);
        pin->store = PIN_REPLACE;
    }
}

/* ---- what the job began with ---- */

static bool may_ask(struct reconcile *request, const struct pin *pin) {
    return pin->failures == 0 || reconcile_may_retry(request, pin->again_ms, pin->failures);
}

/* A server that fails for a moment does not hold a job that runs. */
static int64_t again_after_ms(int failures) {
    return failures < FAILURES_TOLD ? SOON_MS << MAX(failures - 1, 0) : AGAIN_MS;
}

static void forget_answer(struct pin *pin) {
    pin->question = PIN_UNKNOWN;
    pin->slot = 0;
    pin->failures = 0;
}

/* False: the answer is not here yet. object: with the status that counts. */
static bool ask(struct reconcile *request, struct pin *pin, const json_t *object,
                const json_t *service) {
    const char *hash = tree_text(object, "status.specHash", "");
    if (!pin->asked_hash || strcmp(pin->asked_hash, hash) != 0) {
        free(pin->asked_hash);
        pin->asked_hash = x_strdup(hash);
        json_decref(TAKE(pin->accepted));
        forget_answer(pin);
    }
    json_t *spec = spec_snapshot_read(service, pin->rules->mutable_fields, hash);
    if (spec) {
        json_decref(pin->accepted);
        pin->accepted = spec;
        pin->question = PIN_ANSWERED;
        pin->slot = 1; /* both names are free for the next one */
        return true;
    }
    if (pin->question == PIN_UNKNOWN && may_ask(request, pin)) {
        AUTO(tree_freep) json_t *like = accepted_revision(object, hash, pin->slot);
        pin->question = reconcile_find(request, like) ? PIN_ASKED : PIN_UNKNOWN;
        return false; /* the end of this question, or of another, leads to a pass */
    }
    return pin->question == PIN_ANSWERED ||
           (pin->question == PIN_UNKNOWN && pin->failures >= FAILURES_TOLD);
}

void pin_found(struct pin *pin, const struct found *found) {
    if (pin->store == PIN_WHOSE && is_of_revision(pin, found->like)) {
        decide_store(pin, found);
        return;
    }
    if (pin->question != PIN_ASKED) { /* about a revision that is no longer wanted */
        return;
    }
    const json_t *spec =
        accepted_read(found->object, pin->rules->mutable_fields, pin->asked_hash ?: "");
    pin->question = PIN_UNKNOWN;
    if (!found->err && !spec && pin->slot + 1 < ACCEPTED_NAMES) {
        pin->slot++; /* it may have the next name */
        pin->failures = 0;
        return;
    }
    pin->question = found->err ? PIN_UNKNOWN : PIN_ANSWERED;
    pin->failures = found->err ? pin->failures + 1 : 0;
    pin->again_ms = clock_monotonic_ms() + again_after_ms(pin->failures);
    json_decref(TAKE(pin->accepted));
    pin->accepted = json_incref((json_t *)spec);
}

/* ---- a change while the job is suspended ---- */

/* The status says that it is suspended, so its pods were deleted; the ones that are leaving keep
 * what they have. */
static bool rests(const struct reconcile *request) {
    AUTO(tree_freep) json_t *pods = cache_owned(request->cache, "Pod", request->object);
    size_t i;
    json_t *pod;
    json_array_foreach(pods, i, pod) {
        const struct pod_phase phase = pod_phase_read(pod);
        if (!tree_get(pod, "metadata.deletionTimestamp") && phase.stage != POD_PHASE_DEAD &&
            phase.stage != POD_PHASE_SUCCEEDED) {
            return false;
        }
    }
    return true;
}

/* The object with the accepted spec and what may be changed now; owned. NULL: nothing of that. */
static json_t *with_change(const struct pin *pin, const json_t *object, const json_t *accepted) {
    const char *const *fields = pin->rules->suspended_fields;
    const json_t *before = json_object_get(accepted, "spec");
    const char *suspended = tree_text(conditions_find(object, "Suspended"), "status", "");
    struct error ignored = {0};
    if (!fields || strcmp(suspended, "True") != 0) {
        return NULL;
    }
    AUTO(tree_freep) json_t *after = accepted_apply(object, before, fields);
    if (json_equal(before, json_object_get(after, "spec")) ||
        (pin->rules->check && pin->rules->check(before, after, &ignored) < 0)) {
        return NULL;
    }
    return TAKE(after);
}

/* Suspended in any case: until the status has moved nothing is made from either spec. */
static json_t *held(const json_t *object) {
    json_t *copy = json_copy((json_t *)object);
    json_t *spec = json_copy(json_object_get(object, "spec"));
    json_object_set_new(spec, "suspend", json_true());
    json_object_set_new(copy, "spec", spec);
    return copy;
}

/* The same, while it is not decided: the status stays with the generation that it is about. With
 * the new one, a controller that takes over would see no change, but a new default. */
static json_t *held_back(const json_t *accepted) {
    json_t *copy = held(accepted);
    json_t *metadata = json_copy(json_object_get(accepted, "metadata"));
    const json_t *seen = tree_get(accepted, "status.observedGeneration");
    if (seen) {
        json_object_set(metadata, "generation", (json_t *)seen);
    }
    json_object_set_new(copy, "metadata", metadata);
    return copy;
}

/* A change that was taken, or taken back. */
static void forget_change(struct pin *pin) {
    if (*pin->next_hash && pin->revision) {
        drop(pin, false);
    }
    pin->next_hash[0] = 0;
    pin->change = PIN_UNCHANGED;
    pin->is_late = false;
}

/* The job is resumed, but its last change came too soon after others. One event until it is taken.
 */
static void note_late(struct pin *pin, struct reconcile *request, bool is_resumed) {
    if (is_resumed && !pin->is_late) {
        struct reconcile_event event = {
            .type = "Warning",
            .reason = "ChangeWaits",
            .note = "spec was changed again and again while the job was suspended; the last change "
                    "is taken, and the job goes on, within three minutes"};
        event_recorder_add(request, &event);
    }
    pin->is_late = is_resumed;
}

/* False: it is not its time yet. */
static bool begin_change(struct pin *pin, struct reconcile *request, const json_t *changed,
                         const char *hash) {
    bool is_resumed = !tree_bool(request->object, "spec.suspend", false);
    if (strcmp(pin->next_hash, hash) == 0) {
        pin->is_late = false;
        return true;
    }
    if (!retry_delay_repeat_is_over(request, &pin->changes)) {
        pin->change = pin->change == PIN_UNCHANGED ? PIN_WAITS : pin->change;
        note_late(pin, request, is_resumed);
        return false;
    }
    retry_delay_repeat_note(&pin->changes, request->monotonic_ms);
    pin->is_late = false;
    memcpy(pin->next_hash, hash, sizeof pin->next_hash);
    pin->since_ms = request->monotonic_ms;
    pin->change = PIN_STORING;
    want(pin, changed, hash, pin->slot == 0 ? 1 : 0);
    return true;
}

/* One step towards the changed spec; the object to plan with, owned. NULL: it is not taken. */
static json_t *take(struct reconcile *request, struct pin *pin, const json_t *accepted,
                    const json_t *changed) {
    bool is_resumed = !tree_bool(request->object, "spec.suspend", false);
    char hash[65];
    job_hash(json_object_get(changed, "spec"), pin->rules->mutable_fields, hash);
    if (!rests(request)) { /* resumed already: its pods have the accepted spec */
        forget_change(pin);
        pin->change = is_resumed ? PIN_UNCHANGED : PIN_WAITS;
        return is_resumed ? NULL : held_back(accepted);
    }
    if (!begin_change(pin, request, changed, hash)) {
        return held_back(accepted);
    }
    if (is_resumed && pin->change == PIN_STORING &&
        request->monotonic_ms >= pin->since_ms + TAKE_MS) {
        drop(pin, false);
    }
    if (pin->change == PIN_REFUSED) {
        return NULL;
    }
    status_write_requeue(request, TAKE_MS);
    if (pin->change != PIN_STORED) {
        return held_back(accepted);
    }
    json_t *moved = held(changed);
    json_t *status = json_copy(json_object_get(moved, "status"));
    json_object_set_new(status, "specHash", json_string(hash));
    json_object_set_new(moved, "status", status);
    return moved;
}

/* ---- one pass ---- */

/* The record on the Service follows the status. */
static void move_record(struct reconcile *request, struct pin *pin, const json_t *service) {
    AUTO(text_freep) char *text = spec_snapshot_move(service, request->object);
    if (!text ||
        (pin->moves_failed > 0 && !reconcile_may_retry(request, pin->move_ms, pin->moves_failed))) {
        return;
    }
    reconcile_write(request, CLUSTER_MERGE,
                    json_pack("{s:O, s:O, s:{s:O, s:s, s:O, s:{s:s}}}", "apiVersion",
                              json_object_get(service, "apiVersion"), "kind",
                              json_object_get(service, "kind"), "metadata", "name",
                              tree_get(service, "metadata.name"), "namespace", request->namespace,
                              "uid", tree_get(service, "metadata.uid"), "annotations",
                              ANNOTATION_SPEC_SNAPSHOT, text));
}

/* The spec is the accepted one. A revision that somebody has deleted is stored again. */
static void keep_accepted(struct reconcile *request, struct pin *pin, const json_t *service) {
    const json_t *object = request->object;
    const char *hash = tree_text(object, "status.specHash", "");
    forget_change(pin);
    if (accepted_differs(object, pin->rules->mutable_fields)) { /* by a new default */
        return;
    }
    move_record(request, pin, service);
    if (pin->question == PIN_ANSWERED && !pin->accepted && strcmp(pin->asked_hash, hash) == 0 &&
        strlen(hash) < sizeof pin->revision_hash) {
        char copy[65] = "";
        forget_answer(pin);
        memcpy(copy, hash, strlen(hash));
        want(pin, object, copy, 0);
    }
}

/* A change that was seen is compared by its hash alone: the status may have the generation already.
 */
static bool is_other(const struct pin *pin, const json_t *object) {
    const char *const *fields = pin->rules->mutable_fields;
    return pin->change != PIN_UNCHANGED ? accepted_differs(object, fields)
                                        : accepted_is_changed(object, fields);
}

/* Whether they differ by more than defaults that the accepted one was stored without. */
static bool is_same(const struct pin *pin, const json_t *object, const json_t *accepted) {
    char ours[65], theirs[65];
    job_hash(json_object_get(object, "spec"), pin->rules->mutable_fields, ours);
    job_hash(json_object_get(accepted, "spec"), pin->rules->mutable_fields, theirs);
    return strcmp(ours, theirs) == 0;
}

/* The object to plan with, owned. object: with another spec than the accepted one. */
static json_t *choose_spec(struct reconcile *request, struct pin *pin, const json_t *object,
                           const json_t *accepted) {
    AUTO(tree_freep) json_t *changed = with_change(pin, object, accepted);
    if (!changed) {
        forget_change(pin);
    }
    AUTO(tree_freep) json_t *taken = changed ? take(request, pin, accepted, changed) : NULL;
    const json_t *kept = taken ? changed : accepted;
    accepted_name_changes(object, json_object_get(kept, "spec"), pin->rules->mutable_fields,
                          pin->fields);
    return json_incref(taken ? taken : (json_t *)accepted);
}

bool pin_settle(struct reconcile *request, struct pin *pin, const struct pin_rules *rules,
                const struct pin_seen *seen, json_t **ret_object) {
    *ret_object = NULL;
    pin->rules = rules;
    pin->is_accepted = false;
    pin->fields[0] = 0;
    if (conditions_is_finished(request->object)) {
        forget_change(pin);
        return true;
    }
    AUTO(tree_freep)
    json_t *object = spec_snapshot_restore(
        &(struct spec_snapshot_known){request->object, seen->pods, seen->credentials},
        seen->service);
    if (!is_other(pin, object)) {
        keep_accepted(request, pin, seen->service);
        return true;
    }
    if (!ask(request, pin, object, seen->service)) {
        return false;
    }
    if (!pin->accepted) {
        pin->is_late = false; /* no change is taken any more */
        return true;
    }
    AUTO(tree_freep)
    json_t *accepted = accepted_fill(request->schema,
                                     accepted_apply(object, pin->accepted, rules->mutable_fields));
    pin->is_accepted = true;
    if (is_same(pin, object, accepted)) {
        keep_accepted(request, pin, seen->service);
    } else {
        *ret_object = choose_spec(request, pin, object, accepted);
    }
    return true;
}

/* ---- the revision ---- */

/* The first object of that kind that is created in this pass; NULL: none. */
static const json_t *find_first(const json_t *create, const char *kind) {
    for (size_t i = 0; i < json_array_size(create); i++) {
        const json_t *first = json_array_get(create, i);
        if (strcmp(tree_text(first, "kind", ""), kind) == 0) {
            return first;
        }
    }
    return NULL;
}

void pin_add(struct reconcile *request, struct pin *pin, const char *first, json_t *create) {
    const json_t *object = request->object;
    const json_t *made = tree_get(object, "status.specHash") ? NULL : find_first(create, first);
    char hash[65];
    if (made) {
        job_hash(json_object_get(object, "spec"), pin->rules->mutable_fields, hash);
        if (!spec_snapshot_has(made, hash) && /* it is too long */
            (!pin->revision || strcmp(pin->revision_hash, hash) != 0)) {
            want(pin, object, hash, 0);
        }
    }
    if (!pin->revision) {
        return;
    }
    if (pin->store == PIN_WRITE) {
        json_array_append(create, pin->revision);
    } else if (pin->store == PIN_IN_DOUBT && may_ask(request, pin) &&
               reconcile_find(request, pin->revision)) {
        pin->store = PIN_WHOSE;
    } else if (pin->store == PIN_REPLACE) {
        reconcile_write(request, CLUSTER_DELETE, TAKE(pin->holder));
        pin->store = PIN_REPLACING;
        status_write_requeue(request, REPLACED_MS); /* a deletion causes no pass by itself */
    }
}

void pin_note(struct pin *pin, const struct written *written) {
    if (written->verb == CLUSTER_MERGE &&
        owned_annotation(written->object, ANNOTATION_SPEC_SNAPSHOT)) {
        pin->moves_failed = written->err ? pin->moves_failed + 1 : 0;
        pin->move_ms = clock_monotonic_ms() + AGAIN_MS;
        return;
    }
    if (!is_of_revision(pin, written->object)) {
        return;
    }
    if (written->verb == CLUSTER_DELETE) {
        pin->store = PIN_WRITE; /* if it failed, the creation will fail */
    } else if (!written->err) {
        drop(pin, true);
    } else if (written->err->kind == ERROR_CONFLICT) {
        pin->store = PIN_IN_DOUBT;
        pin->failures = 0;
    }
}
