// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/reconcile.h"

#include "lib/time/clock.h"
#include "operator/kinds/job/after/after_inquiry.h"
#include "operator/kinds/job/after/after_pass.h"
#include "operator/kinds/job/conditions.h"
#include "operator/kinds/job/reconcile/adoption.h"
#include "operator/kinds/job/reconcile/clock_set.h"
#include "operator/kinds/job/reconcile/holders.h"
#include "operator/kinds/job/reconcile/other_owner.h"
#include "operator/kinds/job/reconcile/pin.h"
#include "operator/kinds/job/reconcile/pods_seen.h"
#include "operator/kinds/job/reconcile/reconcile.h"
#include "operator/kinds/job/reconcile/refusals.h"
#include "operator/kinds/job/reconcile/status_write.h"
#include "operator/kinds/sweep/cache_transform.h"
#include "operator/kinds/sweep/plan.h"
#include "operator/kinds/sweep/trials.h"
#include "operator/operator_metrics.h"

#include <stdlib.h>
#include <string.h>

enum { RECONCILE_EVERY_MS = 100 }; /* at least: each change of each trial asks for a pass */

/* The data of one Sweep between passes. */
struct sweep {
    struct sweep *next;
    char *key, *uid; /* "namespace/name" */
    struct status_write_record status;
    struct refusals write_failures;
    struct adoption adoption;
    struct pin pin;
    struct after_inquiry inquiry;
    struct clock_set clock;
    struct pods_seen seen;
    int64_t reconciled_ms;
    int64_t running;    /* of its trials */
    int64_t thought_ns; /* for each trial that the last pass created */
    enum algorithm algorithm;
    struct trials own;
    struct trials warm; /* of all Sweeps in spec.warmStart, as they were when it began */
    bool is_warm_read;
    char *warm_missing;
    json_t *warm_objectives; /* plan.h */
};

struct state {
    struct sweep *first;
    struct status_write_ended ended;
};

static void *state_new(void) {
    return x_calloc(1, sizeof(struct state));
}

static void sweep_free(struct sweep *sweep) {
    trials_release(&sweep->own);
    trials_release(&sweep->warm);
    refusals_release(&sweep->write_failures);
    adoption_release(&sweep->adoption);
    status_write_release(&sweep->status);
    pin_release(&sweep->pin);
    after_inquiry_release(&sweep->inquiry);
    pods_seen_release(&sweep->seen);
    json_decref(sweep->warm_objectives);
    free(sweep->warm_missing);
    free(sweep->key);
    free(sweep->uid);
    free(sweep);
}

static void state_free(void *opaque) {
    struct state *state = opaque;
    for (struct sweep *sweep = state->first, *next; sweep; sweep = next) {
        next = sweep->next;
        sweep_free(sweep);
    }
    json_decref(state->ended.at_once);
    free(state);
}

static struct sweep **find(struct state *state, const char *namespace, const char *name) {
    AUTO(text_freep) char *key = x_printf("%s/%s", namespace, name);
    struct sweep **link = &state->first;
    while (*link && strcmp((*link)->key, key) != 0) {
        link = &(*link)->next;
    }
    return link;
}

static void count_running(const struct state *state) {
    int64_t running = 0;
    for (const struct sweep *sweep = state->first; sweep; sweep = sweep->next) {
        running += sweep->running;
    }
    operator_metrics_trials(running);
}

static void forget(struct state *state, const struct reconcile *request) {
    struct sweep **link = find(state, request->namespace, request->name), *sweep = *link;
    if (sweep) {
        *link = sweep->next;
        sweep_free(sweep);
        count_running(state);
    }
}

/* Created when there is none, or only that of an earlier Sweep of that name. */
static struct sweep *kept_of(struct state *state, const struct reconcile *request) {
    const char *uid = tree_text(request->object, "metadata.uid", "");
    struct sweep *sweep = *find(state, request->namespace, request->name);
    if (sweep && strcmp(sweep->uid, uid) == 0) {
        return sweep;
    }
    forget(state, request);
    sweep = x_calloc(1, sizeof *sweep);
    *sweep = (struct sweep){.next = state->first,
                            .key = x_printf("%s/%s", request->namespace, request->name),
                            .uid = x_strdup(uid),
                            .warm_objectives = json_object(),
                            .reconciled_ms = INT64_MIN / 2};
    status_write_recall(&state->ended, uid, &sweep->status);
    state->first = sweep;
    return sweep;
}

/* ---- observed state ---- */

/* Indexes of several sweeps overlap, so the rows go into one list, whatever their index. */
static void add_warm(struct trials *warm, struct trials *from) {
    if (from->count > 0) {
        warm->rows = x_realloc_array(warm->rows, warm->count + from->count, sizeof *warm->rows);
        memcpy(warm->rows + warm->count, from->rows, from->count * sizeof *from->rows);
        warm->count += from->count;
        from->count = 0; /* warm owns them now */
    }
    trials_release(from);
}

/* Only until it has begun, because spec.warmStart may still change. */
static void read_warm(struct sweep *sweep, const struct reconcile *request,
                      const struct sweep_spec *spec) {
    free(TAKE(sweep->warm_missing));
    trials_release(&sweep->warm);
    json_object_clear(sweep->warm_objectives);
    for (size_t i = 0; i < json_array_size(spec->warm_start); i++) {
        const char *name = json_string_value(json_array_get(spec->warm_start, i));
        AUTO(tree_freep)
        json_t *earlier = cache_find(request->cache, "Sweep", request->namespace, name);
        if (!earlier) {
            sweep->warm_missing = x_strdup(name);
            return;
        }
        json_object_set(sweep->warm_objectives, name, tree_get(earlier, "spec.objective"));
        struct trials trials = {0};
        trials_update(&trials, request->cache, earlier, spec);
        add_warm(&sweep->warm, &trials);
    }
    sweep->is_warm_read = tree_text(request->object, "status.specHash", NULL) != NULL;
}

/* True: a pass was made just now, and another is due soon. */
static bool is_too_soon(struct sweep *sweep, struct reconcile *request) {
    int64_t left_ms = sweep->reconciled_ms + RECONCILE_EVERY_MS - request->monotonic_ms;
    if (left_ms > 0) {
        request->again_ms = left_ms;
        request->is_postponed = true;
        return true;
    }
    sweep->reconciled_ms = request->monotonic_ms;
    return false;
}

/* object: with the spec that counts. */
static int make_plan(struct sweep *sweep, struct reconcile *request, const json_t *object,
                     const json_t *others, struct plan_result *ret_plan, struct error *err) {
    const struct maker_options *options = request->options;
    struct sweep_spec spec;
    struct error ignored = {0};
    AUTO(tree_freep) json_t *pods = NULL;
    bool is_over = conditions_is_finished(request->object); /* its rows are not needed */
    refusals_begin(&sweep->write_failures, request);
    if (!is_over) {
        holders_settle(request, &sweep->write_failures, /* made= */ NULL);
    }
    bool is_readable = !is_over && sweep_spec_read(object, &spec, &ignored) == 0;
    if (is_readable) {
        sweep->algorithm = spec.algorithm;
        trials_update(&sweep->own, request->cache, object, &spec);
        if (!sweep->is_warm_read) {
            read_warm(sweep, request, &spec);
        }
    }
    if (is_over || tree_get(request->object, "spec.register")) {
        pods = cache_owned(request->cache, "Pod", request->object);
    }
    pods_seen_note(&sweep->seen, pods, request->wall_ms, request->monotonic_ms);
    const char *start = tree_text(request->object, "status.startTime", NULL);
    struct write_failures write_failures = refusals_of(&sweep->write_failures);
    struct sweep_observed observed = {
        .job = {.object = object,
                .changed_fields = sweep->pin.fields,
                .is_accepted = sweep->pin.is_accepted,
                .pods = pods,
                .ended = sweep->seen.ended,
                .leaving = sweep->seen.leaving,
                .pods_set = sweep->seen.set,
                .set_ms =
                    clock_set_ms(&sweep->clock, start, request->wall_ms, request->monotonic_ms),
                .options = options->jobs,
                .others = others,
                .write_failures = &write_failures},
        .spec = is_readable ? &spec : NULL,
        .train = options->made,
        .rows = sweep->own.rows,
        .count = sweep->own.count,
        .is_blind = cache_is_absent(request->cache, "DistTrain"),
        .warm = sweep->warm.rows,
        .warm_count = sweep->warm.count,
        .warm_missing = sweep->warm_missing,
        .warm_objectives = sweep->warm_objectives};
    int result = sweep_decide(&observed, request->wall_ms, ret_plan, err);
    free(write_failures.at);
    return result;
}

/* ---- a reconcile pass ---- */

static size_t count_trials(const json_t *create) {
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(create); i++) {
        const char *kind = tree_text(json_array_get(create, i), "kind", "");
        count += strcmp(kind, "DistTrain") == 0;
    }
    return count;
}

/* The time that the search took for each of the trials that are created now. */
static void note_thought(struct sweep *sweep, const struct plan_result *plan, int64_t took_ns) {
    size_t count = count_trials(plan->create);
    sweep->thought_ns = count > 0 ? took_ns / (int64_t)count : 0;
}

/* A suspended Sweep has suspended trials, whose spec is theirs: so its template stays. */
static const struct pin_rules rules = {.mutable_fields = sweep_mutable_fields};

static int reconcile_sweep(struct state *state, struct reconcile *request, struct after_pass *after,
                           struct error *err) {
    static const char *const owned_kinds[] = {"DistTrain", "Pod", NULL};
    if (!request->object) {
        forget(state, request);
        return 0;
    }
    struct sweep *sweep = kept_of(state, request);
    if (tree_get(request->object, "metadata.deletionTimestamp")) {
        refusals_begin(&sweep->write_failures, request);
        job_delete_owned(request, &sweep->write_failures, owned_kinds);
        sweep->running = 0;
        count_running(state);
        return 0;
    }
    const struct maker_options *options = request->options;
    if (other_owner_manages(request, options ? options->jobs : NULL, owned_kinds)) {
        forget(state, request);
        return 0;
    }
    if (is_too_soon(sweep, request)) {
        return 0;
    }
    int64_t start_ns = clock_monotonic_ns();
    AUTO(plan_result_release) struct plan_result plan = {0};
    AUTO(tree_freep) json_t *accepted = NULL;
    const struct pin_seen nothing = {0};
    if (!conditions_is_finished(request->object) &&
        adoption_settle(request, &sweep->adoption, owned_kinds, /* made= */ NULL)) {
        return 0;
    }
    if (!pin_settle(request, &sweep->pin, &rules, &nothing, &accepted) ||
        !after_inquiry_settle(&sweep->inquiry, request, after)) {
        return 0;
    }
    const json_t *object = accepted ? accepted : request->object;
    if (make_plan(sweep, request, object, after->others, &plan, err) < 0) {
        return -1;
    }
    pin_add(request, &sweep->pin, "DistTrain", plan.create);
    int64_t took_ns = clock_monotonic_ns() - start_ns;
    job_carry_out(request, &sweep->write_failures, &sweep->status, &plan);
    note_thought(sweep, &plan, took_ns);
    sweep->running = tree_integer(plan.status, "trials.running", 0);
    count_running(state);
    if (plan.has_more && json_array_size(plan.create) > 0) { /* none was postponed */
        status_write_requeue(request, RECONCILE_EVERY_MS);
    }
    if (conditions_is_finished(request->object) && plan.delete_count == 0) {
        status_write_keep(&state->ended, sweep->uid, &sweep->status, request->monotonic_ms);
        forget(state, request);
    }
    return 0;
}

static int reconcile(void *opaque, struct reconcile *request, struct error *err) {
    struct after_pass after;
    after_pass_begin(&after, request);
    int result = reconcile_sweep(opaque, request, &after, err);
    after_pass_end(&after, request);
    return result;
}

static void wrote(void *opaque, const struct written *written) {
    struct sweep *sweep = *find(opaque, written->namespace, written->name);
    if (!sweep) {
        return;
    }
    status_write_note(&sweep->status, written);
    pin_note(&sweep->pin, written);
    if (written->verb == CLUSTER_CREATE) {
        refusals_note(&sweep->write_failures, written);
        /* A refused trial is suggested again, and counted then. */
        if (!written->err && strcmp(tree_text(written->object, "kind", ""), "DistTrain") == 0) {
            operator_metrics_suggestions(sweep_algorithms[sweep->algorithm], 1, sweep->thought_ns);
        }
    } else if (written->verb == CLUSTER_APPLY) {
        refusals_note_change(&sweep->write_failures, written);
    } else if (written->verb == CLUSTER_MERGE) {
        holders_note(&sweep->write_failures, written);
        adoption_note(&sweep->adoption, written);
    } else if (written->verb == CLUSTER_DELETE) {
        refusals_note(&sweep->write_failures, written);
    }
}

static void found(void *opaque, const struct found *answer) {
    struct sweep *sweep = *find(opaque, answer->namespace, answer->name);
    if (sweep && strcmp(tree_text(answer->like, "kind", ""), "ControllerRevision") == 0) {
        pin_found(&sweep->pin, answer);
    } else if (sweep) {
        holders_found(&sweep->write_failures, answer);
        adoption_found(&sweep->adoption, answer);
        after_inquiry_found(&sweep->inquiry, answer);
    }
}

static const struct owned_kind owned[] = {{"v1", "Pod"}, {NULL, NULL}};

/* Counts a trial by its Sweep's rules: one without a value has failed. */
static void job_ended(const json_t *object) {
    if (strcmp(tree_text(object, "metadata.ownerReferences[0].kind", ""), sweep_kind.name) != 0) {
        return;
    }
    const json_t *condition = conditions_find(object, "Succeeded");
    bool is_well = strcmp(tree_text(condition, "status", ""), "True") == 0;
    bool is_stopped = strcmp(tree_text(condition, "reason", ""), "Stopped") == 0;
    bool has_value = tree_get(object, "status.objective.best") != NULL;
    operator_metrics_trial_ended(is_well && has_value     ? "completed"
                                 : !is_well && is_stopped ? "stopped"
                                                          : "failed");
}

const struct kind sweep_kind = {
    .api_version = "windlass.dev/v1beta1",
    .name = "Sweep",
    .may_be_absent = true, /* an older installation lacks the definition */
    .owned = owned,
    .transform = sweep_transform,
    .state_new = state_new,
    .state_free = state_free,
    .reconcile = reconcile,
    .job_ended = job_ended,
    .wrote = wrote,
    .found = found,
};
