// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/reconcile.h"

#include "lib/time/clock.h"
#include "operator/kinds/job/after/after.h"
#include "operator/kinds/job/after/after_inquiry.h"
#include "operator/kinds/job/after/after_pass.h"
#include "operator/kinds/job/guard/network_policy.h"
#include "operator/kinds/job/reconcile/adoption.h"
#include "operator/kinds/job/reconcile/clock_set.h"
#include "operator/kinds/job/reconcile/credentials.h"
#include "operator/kinds/job/reconcile/ensured.h"
#include "operator/kinds/job/reconcile/holders.h"
#include "operator/kinds/job/reconcile/hub_progress.h"
#include "operator/kinds/job/reconcile/mounts.h"
#include "operator/kinds/job/reconcile/other_leader.h"
#include "operator/kinds/job/reconcile/other_owner.h"
#include "operator/kinds/job/reconcile/pods_seen.h"
#include "operator/kinds/job/reconcile/recreation.h"
#include "operator/kinds/job/reconcile/refusals.h"
#include "operator/kinds/job/reconcile/relabelled.h"
#include "operator/kinds/job/reconcile/service_selector.h"
#include "operator/kinds/job/reconcile/singleton.h"
#include "operator/kinds/job/reconcile/status_write.h"
#include "operator/kinds/job/spec_snapshot.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

enum { STRIPPED_MS = 30000 };

/* Of one job, kept between passes. */
struct kept {
    char *namespace, *name, *uid; /* owned, as all texts */
    struct status_write_record status;
    struct refusals write_failures;
    struct adoption adoption;
    struct singleton singleton;
    struct relabelled relabelled;
    struct after_inquiry inquiry;
    struct recreation recreation;
    struct service_selector selector;
    struct credentials *credentials; /* until they are in use; NULL: none */
    struct job_mounts mounts;
    struct pin pin;
    struct ensured_objects ensured;
    struct pods_seen pods;
    struct clock_set start, gathering;
    struct other_leader other;
    struct other_owner other_owner;
    int64_t stripped_ms; /* since when it has lacked what its maker finds it by; 0: not seen */
};

struct state {
    void *jobs; /* tsearch's tree of struct kept */
    struct status_write_ended ended;
    bool is_current; /* the definition kept all fields of the last status that was written */
};

static int by_name(const void *left, const void *right) {
    const struct kept *a = left, *b = right;
    return strcmp(a->name, b->name) ?: strcmp(a->namespace, b->namespace);
}

static void kept_free(void *opaque) {
    struct kept *kept = opaque;
    refusals_release(&kept->write_failures);
    adoption_release(&kept->adoption);
    singleton_release(&kept->singleton);
    relabelled_release(&kept->relabelled);
    after_inquiry_release(&kept->inquiry);
    recreation_release(&kept->recreation);
    service_selector_release(&kept->selector);
    status_write_release(&kept->status);
    job_credentials_free(kept->credentials);
    pin_release(&kept->pin);
    ensured_release(&kept->ensured);
    json_decref(kept->mounts.messages);
    pods_seen_release(&kept->pods);
    free(kept->namespace);
    free(kept->name);
    free(kept->uid);
    free(kept);
}

void *job_state_new(void) {
    return x_calloc(1, sizeof(struct state));
}

void job_state_free(void *opaque) {
    struct state *state = opaque;
    tdestroy(state->jobs, kept_free);
    json_decref(state->ended.at_once);
    free(state);
}

/* NULL: nothing is kept about that job. */
static struct kept *find_kept(const struct state *state, const char *namespace, const char *name) {
    struct kept like = {.namespace = (char *)namespace, .name = (char *)name};
    struct kept *const *found = tfind(&like, &state->jobs, by_name);
    return found ? *found : NULL;
}

static void forget(struct state *state, const struct reconcile *request) {
    struct kept *kept = find_kept(state, request->namespace, request->name);
    if (kept) {
        tdelete(kept, &state->jobs, by_name);
        kept_free(kept);
    }
}

/* Created when there is none yet, or only that of an earlier job of that name. */
static struct kept *kept_of(struct state *state, const struct reconcile *request) {
    struct kept *kept = find_kept(state, request->namespace, request->name);
    const char *uid = tree_text(request->object, "metadata.uid", "");
    if (kept && strcmp(kept->uid, uid) == 0) {
        return kept;
    }
    forget(state, request);
    kept = x_calloc(1, sizeof *kept);
    kept->namespace = x_strdup(request->namespace);
    kept->name = x_strdup(request->name);
    kept->uid = x_strdup(uid);
    status_write_recall(&state->ended, uid, &kept->status);
    tsearch(kept, &state->jobs, by_name);
    return kept;
}

void job_wrote(void *opaque, const struct written *written) {
    struct state *state = opaque;
    struct kept *kept = find_kept(state, written->namespace, written->name);
    if (!kept) {
        return;
    }
    const char *kind = tree_text(written->object, "kind", "");
    if (strcmp(kind, "NetworkPolicy") == 0) { /* a job without one goes on */
        if (kept->credentials && strcmp(kept->credentials->secret,
                                        tree_text(written->object, "metadata.name", "")) == 0) {
            network_policy_note(kept->credentials, written->err);
        }
        return;
    }
    status_write_note(&kept->status, written);
    if (written->verb == CLUSTER_STATUS && !written->err) {
        state->is_current = !kept->status.dropped &&
                            (state->is_current || tree_get(written->object, "status.credentials"));
    }
    pin_note(&kept->pin, written);
    if (!written->err && (written->verb == CLUSTER_CREATE || written->verb == CLUSTER_MERGE)) {
        ensured_note(&kept->ensured, written->object);
    }
    if (written->verb == CLUSTER_APPLY) {
        refusals_note_change(&kept->write_failures, written);
    } else if (written->verb == CLUSTER_MERGE) {
        holders_note(&kept->write_failures, written);
        adoption_note(&kept->adoption, written);
        relabelled_note_change(&kept->relabelled, written);
        service_selector_note(&kept->selector, written);
    } else if (written->verb != CLUSTER_STATUS) {
        refusals_note(&kept->write_failures, written);
    }
    if (written->verb == CLUSTER_CREATE && strcmp(kind, "Secret") == 0) {
        job_credentials_note(&kept->credentials, written);
    }
    if (written->verb == CLUSTER_DELETE && !written->err) {
        recreation_note_deleted(&kept->recreation, written->object);
        pods_seen_drop(&kept->pods, tree_text(written->object, "metadata.name", ""));
    }
}

void job_take_found(void *opaque, const struct found *found) {
    struct kept *kept = find_kept(opaque, found->namespace, found->name);
    if (kept && strcmp(tree_text(found->like, "kind", ""), "ControllerRevision") == 0) {
        pin_found(&kept->pin, found);
    } else if (kept) {
        holders_found(&kept->write_failures, found);
        adoption_found(&kept->adoption, found);
        singleton_found(&kept->singleton, found, kept->uid);
        relabelled_found(&kept->relabelled, found);
        after_inquiry_found(&kept->inquiry, found);
    }
}

void job_listed(void *opaque, const char *namespace, const char *name, const json_t *list) {
    struct kept *kept = find_kept(opaque, namespace, name);
    if (kept) {
        job_mounts_note(&kept->mounts, list);
    }
}

/* ---- writes ---- */

/* What failed before waits for its own time, and then for its turn. What somebody else changes back
 * again and again is written later each time. */
static bool may_write(struct reconcile *request, const struct refusals *refusals,
                      const json_t *object, enum refusal_of of) {
    int64_t left_ms = of == REFUSAL_OF_CHANGE
                          ? refusals_changed_left_ms(refusals, object, request->monotonic_ms)
                          : 0;
    if (left_ms > 0) {
        status_write_requeue(request, left_ms);
        return false;
    }
    struct retry_delay delay = refusals_delay_of(refusals, object, of);
    return retry_delay_is_over(request, &delay);
}

/* Asks for the writes that may be sent now, and removes the others from the list. An object with
 * its uid is changed; nothing is ever applied to a name alone, which may be somebody else's by
 * then. */
static void write_all(struct reconcile *request, const struct refusals *refusals, json_t *objects) {
    for (size_t i = 0; i < json_array_size(objects);) {
        json_t *object = json_array_get(objects, i);
        bool is_change = tree_get(object, "metadata.uid") != NULL;
        enum cluster_verb verb = is_change ? CLUSTER_APPLY : CLUSTER_CREATE;
        if (!may_write(request, refusals, object,
                       is_change ? REFUSAL_OF_CHANGE : REFUSAL_OF_CREATION)) {
            json_array_remove(objects, i);
            continue;
        }
        if (verb == CLUSTER_CREATE) {
            holders_mark(request, object);
        }
        reconcile_write(request, verb, json_incref(object));
        i++;
    }
}

/* The most patient failure of what is to be created, with the one of all creations. */
static struct retry_delay delay_of_all(const struct refusals *refusals, const json_t *create) {
    struct retry_delay all = {refusals->denied, refusals->paused_until_ms};
    for (size_t i = 0; i < json_array_size(create); i++) {
        struct retry_delay one =
            refusals_delay_of(refusals, json_array_get(create, i), REFUSAL_OF_CREATION);
        all.failures = MAX(all.failures, one.failures);
    }
    return all;
}

/* After a refusal that is about all, one turn is for all: the next refusal ends the batch. */
static void make_slowly(struct reconcile *request, const struct refusals *refusals,
                        json_t *create) {
    struct retry_delay all = delay_of_all(refusals, create);
    request->starts_slowly = true;
    if (json_array_size(create) == 0) {
        return;
    }
    if (!reconcile_may_retry(request, all.not_before_ms, all.failures)) {
        json_array_clear(create);
    }
    for (size_t i = 0; i < json_array_size(create);) {
        json_t *object = json_array_get(create, i);
        struct retry_delay one = refusals_delay_of(refusals, object, REFUSAL_OF_CREATION);
        if (i > 0 && one.not_before_ms > request->monotonic_ms) {
            json_array_remove(create, i);
            continue;
        }
        holders_mark(request, object);
        reconcile_write(request, CLUSTER_CREATE, json_incref(object));
        i++;
    }
}

static void make_all(struct reconcile *request, const struct refusals *refusals, json_t *create) {
    if (refusals->denied > 0) {
        make_slowly(request, refusals, create);
    } else {
        write_all(request, refusals, create);
    }
}

static void delete_one(struct reconcile *request, const struct refusals *refusals, json_t *object) {
    if (may_write(request, refusals, object, REFUSAL_OF_DELETION)) {
        refusals_tell_deletion(refusals, request, object);
        reconcile_write(request, CLUSTER_DELETE, json_incref(object));
    }
}

/* The cache knows what is to go; what it does not watch is identified by its name alone. */
static void delete_all(struct reconcile *request, const struct refusals *refusals,
                       const struct plan_result *plan) {
    for (size_t i = 0; i < plan->delete_count; i++) {
        const struct plan_deletion *one = &plan->delete[i];
        AUTO(tree_freep)
        json_t *object = one->api_version
                             ? json_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", one->api_version,
                                         "kind", one->object.kind, "metadata", "name",
                                         one->object.name, "namespace", request->namespace)
                             : cache_find(request->cache, one->object.kind, request->namespace,
                                          one->object.name);
        if (object && !tree_get(object, "metadata.deletionTimestamp")) {
            delete_one(request, refusals, object);
        }
    }
}

/* `kubectl delete --cascade=orphan`; the cluster takes this off when the owned objects are free. */
static bool leaves_orphans(const json_t *object) {
    return tree_has_text(tree_get(object, "metadata.finalizers"), "orphan");
}

void job_delete_owned(struct reconcile *request, const struct refusals *refusals,
                      const char *const *kinds) {
    for (; *kinds && !leaves_orphans(request->object); kinds++) {
        AUTO(tree_freep)
        json_t *owned = cache_owned(request->cache, *kinds, request->object);
        size_t i;
        json_t *object;
        json_array_foreach(owned, i, object) {
            if (!tree_get(object, "metadata.deletionTimestamp")) {
                delete_one(request, refusals, object);
            }
        }
    }
}

/* Sends the events of a status with its write, also when that was postponed; events of objects that
 * are neither created nor changed are dropped. */
static void send_events(struct reconcile *request, const struct plan_result *plan,
                        bool with_status) {
    for (size_t i = 0; i < plan->event_count; i++) {
        const struct plan_event *event = &plan->events[i];
        struct reconcile_event one = {
            .type = event->type, .reason = event->reason, .note = event->note, .after = event->of};
        bool is_due = event->of ? tree_find(plan->create, "metadata.name", event->of) ||
                                      tree_find(plan->apply, "metadata.name", event->of)
                                : with_status;
        if (is_due) {
            event_recorder_add(request, &one);
        }
    }
}

void job_carry_out(struct reconcile *request, const struct refusals *refusals,
                   struct status_write_record *status, struct plan_result *plan) {
    int64_t asked_ms = request->again_ms; /* before the plan */
    request->again_ms = plan->again_ms;
    if (asked_ms > 0) {
        status_write_requeue(request, asked_ms);
    }
    make_all(request, refusals, plan->create);
    write_all(request, refusals, plan->apply);
    delete_all(request, refusals, plan);
    send_events(request, plan, status_write(request, status, plan->status));
}

/* ---- one pass ---- */

static bool needs_credentials(const struct job_ops *ops, const struct kept *kept,
                              const struct job_observed *observed) {
    return !kept->credentials && job_credentials_are_missing(observed) &&
           (!ops->begins || ops->begins(observed->object, observed->options));
}

static int ask_plan(const struct job_ops *ops, struct reconcile *request, struct kept *kept,
                    struct job_observed *observed, struct plan_result *ret_plan,
                    struct error *err) {
    observed->misplaced = kept->relabelled.alone;
    if (needs_credentials(ops, kept, observed) &&
        job_credentials_make(request->object, &kept->credentials, err) < 0) {
        return -1;
    }
    observed->credentials = kept->credentials;
    if (ops->plan(request, observed, ret_plan, err) < 0) {
        return -1;
    }
    if (!ret_plan->needs_credentials) {
        return 0;
    }
    plan_result_release(ret_plan);
    job_credentials_free(TAKE(kept->credentials));
    if (job_credentials_make(request->object, &kept->credentials, err) < 0) {
        return -1;
    }
    observed->credentials = kept->credentials;
    return ops->plan(request, observed, ret_plan, err);
}

/* So that the Service is known as ours when it is seen. */
static void note_services(struct kept *kept, const json_t *objects) {
    struct credentials *made = kept->credentials;
    size_t i;
    json_t *object;
    char digest[SPEC_SNAPSHOT_DIGEST];
    json_array_foreach(objects, i, object) {
        if (made && strcmp(tree_text(object, "kind", ""), "Service") == 0 &&
            owned_is_service_of(object, made->secret, made->certificate_sha256) &&
            spec_snapshot_digest_of(object, digest)) {
            free((char *)made->begun);
            made->begun = x_strdup(digest);
            other_leader_note_own(&kept->other, digest);
        }
    }
}

static void trim_all(const struct job_ops *ops, const struct reconcile *request,
                     const json_t *objects) {
    size_t i;
    json_t *object;
    json_array_foreach(objects, i, object) {
        cache_reduce(request->cache, object, ops->transform_ended);
    }
}

static void release_failures(struct write_failures *list) {
    free(list->at);
}

/* False: an object that is the job's has to be adopted first. */
static bool adopt_owned(struct reconcile *request, struct kept *kept) {
    const char *const owned[] = {"Service", "Pod", request->kind /* runs of a series */, NULL};
    ensured_settle(request, &kept->ensured, &kept->write_failures);
    if (adoption_settle(request, &kept->adoption, owned, kept->credentials)) {
        reconcile_keep_polling(request);
        return false;
    }
    holders_settle(request, &kept->write_failures, kept->credentials);
    return true;
}

/* path: of a time in the job's status. */
static int64_t set_since(struct clock_set *set, const struct reconcile *request, const char *path) {
    return clock_set_ms(set, tree_text(request->object, path, NULL), request->wall_ms,
                        request->monotonic_ms);
}

static int64_t hold_ms(struct kept *kept, const struct reconcile *request, const json_t *service) {
    return tree_bool(request->object, "status.credentials.created", false)
               ? 0
               : other_leader_hold_ms(&kept->other, service, request->monotonic_ms);
}

static void note_seen(const struct job_ops *ops, struct reconcile *request, struct kept *kept,
                      const json_t *pods) {
    bool is_first = !kept->singleton.is_begun;
    AUTO(text_freep) char *last = is_first && ops->last_hub ? ops->last_hub(request->object) : NULL;
    pods_seen_note(&kept->pods, pods, request->wall_ms, request->monotonic_ms);
    singleton_note(&kept->singleton, pods, ops->is_hub, last);
    relabelled_note(&kept->relabelled, kept->pods.vanished, kept->singleton.name);
    recreation_note(request, &kept->recreation, kept->pods.lost);
    ensured_forget(&kept->ensured, request->monotonic_ms);
}

/* Pods and a Service that somebody changed, and why volumes are not mounted. */
static void look_around(const struct job_ops *ops, struct reconcile *request, struct kept *kept,
                        const json_t *pods, const json_t *service) {
    relabelled_settle(request, &kept->relabelled, ops->bare_role);
    if (!conditions_is_finished(request->object)) {
        other_owner_note(request, &kept->other_owner, pods);
        service_selector_settle(request, &kept->selector, ops->hub, service);
    }
    job_mounts_query(request, &kept->mounts, pods);
}

/* Its maker would not find it, and deletes it. Another API group's kind may have the same name.
 * Once it has begun, a maker that goes by names finds it: so it does if it is not deleted soon. */
static bool is_stripped(const struct job_ops *ops, struct reconcile *request, struct kept *kept) {
    const json_t *owner = tree_get(request->object, "metadata.ownerReferences[0]");
    bool is_found = !owned_is_stripped(request->object, ops->maker, ops->found_by);
    AUTO(tree_freep)
    json_t *maker = is_found ? NULL
                             : cache_find(request->cache, ops->maker, request->namespace,
                                          tree_text(owner, "name", ""));
    if (!maker || strcmp(tree_text(maker, "metadata.uid", ""), tree_text(owner, "uid", "")) != 0) {
        kept->stripped_ms = 0;
        return false;
    }
    kept->stripped_ms = kept->stripped_ms ? kept->stripped_ms : request->monotonic_ms;
    int64_t left_ms = kept->stripped_ms + STRIPPED_MS - request->monotonic_ms;
    if (!ops->is_found_by_name || owned_is_stripped(request->object, ops->maker, NULL) ||
        conditions_is_finished(maker)) {
        return true;
    }
    request->again_ms = MAX(left_ms, (int64_t)0);
    return left_ms > 0;
}

static void carry_out(const struct state *state, struct reconcile *request, struct kept *kept,
                      struct plan_result *plan) {
    pin_add(request, &kept->pin, "Service", plan->create);
    kept->status.may_begin_late = state->is_current;
    ensured_want_all(&kept->ensured, plan->apply);
    job_carry_out(request, &kept->write_failures, &kept->status, plan);
    note_services(kept, plan->create); /* what of it is sent */
    note_services(kept, plan->apply);
}

static struct kept *begin(struct state *state, struct reconcile *request) {
    struct kept *kept = kept_of(state, request);
    refusals_begin(&kept->write_failures, request);
    if (tree_bool(request->object, "status.credentials.created", false)) {
        job_credentials_free(TAKE(kept->credentials)); /* in use */
        other_leader_note_begun(&kept->other);
    }
    return kept;
}

/* The status of a job that has ended stays; what was kept for it goes, when nothing is to be
 * deleted any more: what the cluster refuses to delete waits for its time. */
static void finish(struct state *state, struct reconcile *request, struct kept *kept,
                   const struct plan_result *plan) {
    /* What was adopted lately is not adopted again at once. */
    if (kept->adoption.count == 0 && plan->delete_count == 0 &&
        !relabelled_is_busy(&kept->relabelled)) {
        status_write_keep(&state->ended, kept->uid, &kept->status, request->monotonic_ms);
        forget(state, request);
    }
}

static bool is_run(struct state *state, struct reconcile *request) {
    const char *const owned[] = {"Pod", request->kind /* runs of a series */, NULL};
    if (!request->object || other_owner_manages(request, request->options, owned)) {
        forget(state, request);
        return false;
    }
    bool is_leaving = tree_get(request->object, "metadata.deletionTimestamp") != NULL;
    if (is_leaving) {
        job_delete_owned(request, &begin(state, request)->write_failures, owned);
    }
    return !is_leaving;
}

static int reconcile(const struct job_ops *ops, struct state *state, struct reconcile *request,
                     struct after_pass *after, struct error *err) {
    const json_t *object = request->object;
    if (!is_run(state, request)) {
        return 0;
    }
    struct kept *kept = begin(state, request);
    if (pods_seen_lately(&kept->pods, request) || is_stripped(ops, request, kept) ||
        !adopt_owned(request, kept)) {
        return 0;
    }
    AUTO(tree_freep) json_t *services = cache_owned(request->cache, "Service", object);
    AUTO(tree_freep) json_t *pods = cache_owned(request->cache, "Pod", object);
    relabelled_leave_out(&kept->relabelled, pods, request->name, ops->bare_role);
    bool is_known = false;
    const struct spec_snapshot_known known = {object, pods, kept->credentials};
    const json_t *service = spec_snapshot_choose(&known, services, &is_known);
    const struct pin_seen seen = {service, pods, kept->credentials};
    AUTO(tree_freep) json_t *accepted = NULL;
    if (!pin_settle(request, &kept->pin, &ops->rules, &seen, &accepted) ||
        !after_inquiry_settle(&kept->inquiry, request, after)) {
        return 0;
    }
    note_seen(ops, request, kept, pods);
    AUTO(tree_freep)
    json_t *progress = is_known ? hub_progress_ask(ops, request, service, pods) : NULL;
    AUTO(release_failures)
    struct write_failures write_failures = refusals_of(&kept->write_failures);
    struct job_observed observed = {
        .object = accepted ? accepted : object,
        .changed_fields = kept->pin.fields,
        .is_change_late = kept->pin.is_late,
        .is_accepted = kept->pin.is_accepted,
        .service = service,
        .hold_ms = hold_ms(kept, request, service),
        .taken_away_ms = recreation_service_hold_ms(request, &kept->recreation, services),
        .pods = pods,
        .progress = progress,
        .options = request->options,
        .write_failures = &write_failures,
        .held = singleton_held(&kept->singleton),
        .ensured = &kept->ensured,
        .ended = kept->pods.ended,
        .leaving = kept->pods.leaving,
        .pods_set = kept->pods.set,
        .set_ms = set_since(&kept->start, request, "status.startTime"),
        .gathering_set_ms = set_since(&kept->gathering, request, "status.gathering.since"),
        .dropped = kept->status.dropped,
        .mounts = kept->mounts.messages,
        .resting = kept->recreation.resting,
        .others = after->others};
    AUTO(plan_result_release) struct plan_result plan = {0};
    if (ask_plan(ops, request, kept, &observed, &plan, err) < 0) {
        return -1;
    }
    recreation_hold(request, &kept->recreation, plan.create);
    if (!singleton_filter(request, &kept->singleton, plan.create)) {
        return 0;
    }
    look_around(ops, request, kept, pods, is_known ? service : NULL);
    carry_out(state, request, kept, &plan);
    if (conditions_is_finished(object)) {
        finish(state, request, kept, &plan);
        trim_all(ops, request, pods);
        trim_all(ops, request, services);
    }
    return 0;
}

int job_reconcile(const struct job_ops *ops, void *opaque, struct reconcile *request,
                  struct error *err) {
    struct after_pass after;
    after_pass_begin(&after, request);
    int result = reconcile(ops, opaque, request, &after, err);
    after_pass_end(&after, request);
    return result;
}
