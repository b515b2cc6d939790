// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/relabelled.h"

#include "operator/control/claim.h"
#include "operator/kinds/job/owned.h"
#include "operator/kinds/job/pod_phase.h"
#include "operator/object.h"

#include <stdlib.h>
#include <string.h>

void relabelled_release(struct relabelled *relabelled) {
    json_decref(relabelled->names);
    json_decref(relabelled->there);
    json_decref(relabelled->misplaced);
    json_decref(relabelled->alone);
    *relabelled = (struct relabelled){0};
}

static void look_for(struct relabelled *relabelled, json_t *name) {
    if (json_array_size(relabelled->names) < RELABELLED_MAX &&
        !tree_has_text(relabelled->names, json_string_value(name))) {
        relabelled->names = relabelled->names ?: json_array();
        json_array_append(relabelled->names, name);
    }
}

void relabelled_note(struct relabelled *relabelled, const json_t *vanished, const char *but) {
    for (size_t i = 0; i < json_array_size(vanished); i++) {
        json_t *name = json_array_get(vanished, i);
        if (!but || strcmp(json_string_value(name), but) != 0) {
            look_for(relabelled, name);
        }
    }
}

/* A controller that has just started never saw it in its place, so it does not vanish. */
static void note_misplaced(struct relabelled *relabelled, json_t *pod, const json_t *known) {
    const char *uid = tree_text(pod, "metadata.uid", "");
    const struct pod_phase phase = pod_phase_read(pod);
    if (!pod_phase_is_alive(&phase)) {
        return;
    }
    if (owned_annotation(pod, ANNOTATION_ALONE)) {
        relabelled->alone = relabelled->alone ?: json_array();
        json_array_append(relabelled->alone, pod);
        return;
    }
    relabelled->misplaced = relabelled->misplaced ?: json_object();
    json_object_set_new(relabelled->misplaced, uid, json_true());
    if (!json_object_get(known, uid)) {
        look_for(relabelled, tree_get(pod, "metadata.name"));
    }
}

void relabelled_leave_out(struct relabelled *relabelled, json_t *pods, const char *job,
                          const char *bare_role) {
    AUTO(tree_freep) json_t *known = TAKE(relabelled->misplaced);
    json_decref(TAKE(relabelled->alone));
    for (size_t i = json_array_size(pods); i > 0; i--) {
        json_t *pod = json_array_get(pods, i - 1);
        if (owned_is_misplaced(pod, job, bare_role)) {
            note_misplaced(relabelled, pod, known);
            json_array_remove(pods, i - 1);
        }
    }
}

bool relabelled_is_busy(const struct relabelled *relabelled) {
    return json_array_size(relabelled->names) > 0;
}

static const char *first(const struct relabelled *relabelled) {
    return json_string_value(json_array_get(relabelled->names, 0));
}

/* The next one is looked for. */
static void drop(struct relabelled *relabelled) {
    json_array_remove(relabelled->names, 0);
    json_decref(TAKE(relabelled->there));
    relabelled->is_asked = relabelled->is_releasing = false;
    relabelled->delay = (struct retry_delay){0};
}

static void fail(struct relabelled *relabelled) {
    json_decref(TAKE(relabelled->there));
    relabelled->is_releasing = false;
    retry_delay_note(&relabelled->delay);
    if (relabelled->delay.failures >= RELABELLED_TRIES) {
        drop(relabelled);
    }
}

static void ask(struct reconcile *request, struct relabelled *relabelled) {
    /* Somebody may delete pods all the time, and each would cost a question. */
    if (!retry_delay_repeat_is_over(request, &relabelled->in_vain) ||
        !retry_delay_is_over(request, &relabelled->delay)) {
        return;
    }
    AUTO(tree_freep)
    json_t *like =
        json_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", "v1", "kind", "Pod", "metadata", "name",
                  first(relabelled), "namespace", request->namespace);
    relabelled->is_asked = reconcile_find(request, like);
    relabelled->asked_ms = request->monotonic_ms;
}

/* The watch shows it; owned. A pod with the label of another job, or of another place, is seen,
 * too, but not by this job. */
static json_t *find_seen(const struct reconcile *request, const char *name, const char *bare_role) {
    AUTO(tree_freep) json_t *seen = cache_find(request->cache, "Pod", request->namespace, name);
    const char *label = owned_label(seen, LABEL_JOB);
    bool is_seen = label && strcmp(label, request->name) == 0 &&
                   !owned_is_misplaced(seen, request->name, bare_role);
    return is_seen ? json_incref(seen) : NULL;
}

static bool is_to_go(const struct reconcile *request, const json_t *there, const char *bare_role) {
    enum claim claim = claim_judge(there, NULL, request->object);
    bool is_misplaced = owned_is_misplaced(there, request->name, bare_role) &&
                        !owned_annotation(there, ANNOTATION_ALONE) &&
                        !tree_get(there, "metadata.deletionTimestamp");
    return claim == CLAIM_RELEASE || (claim == CLAIM_OURS && is_misplaced);
}

/* Somebody made it another one's, who decides about it now. */
static void report_taken_over(struct reconcile *request, const json_t *pod) {
    const json_t *owner = tree_get(pod, "metadata.ownerReferences[0]");
    if (!owner || object_is_owned_by(pod, tree_text(request->object, "metadata.uid", ""))) {
        return;
    }
    AUTO(text_freep)
    char *note = x_printf("pod %.80s has another controller now, %.80s %.80s: the job goes on "
                          "without it, and does not delete it",
                          tree_text(pod, "metadata.name", ""), tree_text(owner, "kind", ""),
                          tree_text(owner, "name", ""));
    /* Not after a write of that name: the pod that takes its place asks for it first, in vain. */
    struct reconcile_event event = {.type = "Warning", .reason = "PodTakenOver", .note = note};
    event_recorder_add(request, &event);
}

void relabelled_settle(struct reconcile *request, struct relabelled *relabelled,
                       const char *bare_role) {
    while (first(relabelled) && !relabelled->is_asked && !relabelled->is_releasing) {
        const json_t *there = relabelled->there;
        AUTO(tree_freep) json_t *seen = find_seen(request, first(relabelled), bare_role);
        if (seen) {
            report_taken_over(request, seen);
            drop(relabelled);
        } else if (!there) {
            ask(request, relabelled);
            return;
        } else if (is_to_go(request, there, bare_role)) {
            relabelled->is_releasing = true;
            reconcile_write(request, CLUSTER_MERGE, claim_release(there, request->object));
        } else {
            drop(relabelled);
        }
    }
}

static bool is_first(const struct relabelled *relabelled, const json_t *object) {
    const char *name = first(relabelled);
    return name && strcmp(tree_text(object, "kind", ""), "Pod") == 0 &&
           strcmp(tree_text(object, "metadata.name", ""), name) == 0;
}

void relabelled_found(struct relabelled *relabelled, const struct found *found) {
    if (!relabelled->is_asked || !is_first(relabelled, found->like)) {
        return;
    }
    relabelled->is_asked = false;
    if (found->err) {
        fail(relabelled);
    } else if (found->object) {
        relabelled->there = json_incref((json_t *)found->object);
    } else {
        drop(relabelled); /* it was deleted */
        retry_delay_repeat_note(&relabelled->in_vain, relabelled->asked_ms);
    }
}

/* Released because its name was wanted (holders.h), or adopted: it need not be looked for, unless
 * it is the first, and that is under way. */
static void forget(struct relabelled *relabelled, const struct written *written) {
    const char *name = tree_text(written->object, "metadata.name", "");
    bool is_done = !written->err && strcmp(tree_text(written->object, "kind", ""), "Pod") == 0;
    bool is_open = relabelled->is_asked || relabelled->is_releasing || relabelled->there;
    for (size_t i = json_array_size(relabelled->names); is_done && i > is_open; i--) {
        if (strcmp(json_string_value(json_array_get(relabelled->names, i - 1)), name) == 0) {
            json_array_remove(relabelled->names, i - 1);
        }
    }
}

void relabelled_note_change(struct relabelled *relabelled, const struct written *written) {
    if (!relabelled->is_releasing || !is_first(relabelled, written->object)) {
        forget(relabelled, written);
        return;
    }
    if (!written->err || written->err->kind == ERROR_NOT_FOUND) {
        drop(relabelled);
        if (++relabelled->released > RELABELLED_AT_ONCE) {
            retry_delay_repeat_note(&relabelled->in_vain, relabelled->asked_ms);
        }
    } else {
        fail(relabelled);
    }
}
