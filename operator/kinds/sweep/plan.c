// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/plan.h"

#include "operator/kinds/job/plan_decide.h"
#include "operator/kinds/sweep/plan_state.h"
#include "operator/kinds/sweep/trial.h"

#include <assert.h>
#include <string.h>

enum { MISSING_AGAIN_MS = 5000 };

static const char no_trials[] = "the cluster has no DistTrains; install their definition";

/* ---- obstacles ---- */

static void stay(struct sweep_plan *plan, const char *stalled, const char *why) {
    const json_t *before = conditions_find(plan->job.observed->object, "Succeeded");
    conditions_set(&plan->job.conditions, CONDITIONS_UNDER_WAY,
                   tree_text(before, "reason", "Pending"), "%.600s",
                   tree_text(before, "message", ""));
    conditions_stall(&plan->job.conditions, stalled, why);
}

/* The reason and advice for a write failure. */
static const struct {
    const char *reason, *advice;
    bool stalls;
} failure_rows[] = {
    [WRITE_FAILURE_TAKEN] = {"NameTaken",
                             "it is not this sweep's; delete it, or give the sweep another name",
                             true},
    [WRITE_FAILURE_LEAVING] = {"NameTaken",
                               "an earlier sweep's trial is being deleted; waiting for it", false},
    [WRITE_FAILURE_HELD] = {"NameTaken", "it was taken out of this sweep; delete it", true},
    [WRITE_FAILURE_UNKNOWN] = {"Denied", "it will be asked for again", false},
    [WRITE_FAILURE_DENIED] = {"Denied", "it will be retried", false},
    [WRITE_FAILURE_MISSING] = {"NotSupported", no_trials, true},
    [WRITE_FAILURE_REFUSED] = {"ObjectRefused", "correct spec.trial, in another sweep", true},
};
static_assert(ARRAY_LEN(failure_rows) == WRITE_FAILURE_COUNT, "one row per failure");

/* Reports the first write failure of the objects that are to be created now. */
static void report_write_failures(struct sweep_plan *plan) {
    const json_t *create = plan->job.result.create;
    const struct write_failure *failure = NULL;
    for (size_t i = 0; i < json_array_size(create) && !failure; i++) {
        failure = job_plan_write_failure_of(&plan->job, json_array_get(create, i));
    }
    if (!failure) {
        return;
    }
    const char *reason = failure->why == WRITE_FAILURE_DENIED ? write_failure_denied_reason(failure)
                                                              : failure_rows[failure->why].reason;
    AUTO(text_freep) char *what = object_key_format(failure->object);
    conditions_set(&plan->job.conditions, CONDITIONS_UNDER_WAY, reason, "%s: %.300s; %s", what,
                   failure->text, failure_rows[failure->why].advice);
    if (failure_rows[failure->why].stalls) {
        conditions_stall(&plan->job.conditions, reason, plan->job.conditions.message);
    }
}

/* Reports the first change that is wanted now and was refused before. */
static void report_refused_change(struct sweep_plan *plan) {
    for (size_t i = 0; i < json_array_size(plan->job.result.apply); i++) {
        const char *name =
            tree_text(json_array_get(plan->job.result.apply, i), "metadata.name", "");
        const struct write_failure *failure = write_failure_find(
            plan->job.observed->write_failures, (struct object_key){"DistTrain", name}, true);
        if (failure) {
            conditions_set(&plan->job.conditions, CONDITIONS_UNDER_WAY, "Denied",
                           "DistTrain %s cannot be changed (spec.stop, spec.suspend): %.300s; it "
                           "will be retried",
                           name, failure->text);
            return;
        }
    }
}

/* ---- a reconcile pass ---- */

/* Why trials do not run: the first of them, which most often stands for all. When none runs, it is
 * the Sweep's own reason. */
static void report_waiting(struct sweep_plan *plan) {
    struct conditions *conditions = &plan->job.conditions;
    const struct trial_row *first = plan->first_waiting;
    conditions->progresses = plan->running > plan->waiting;
    if (!first || plan->spec.suspend) {
        return;
    }
    AUTO(text_freep) char *sums = x_strdup(conditions->message);
    conditions_set(conditions, CONDITIONS_UNDER_WAY,
                   conditions->progresses ? conditions->reason : first->waits,
                   "%.200s; %lld of them wait: %.60s: %.60s: %.200s", sums,
                   (long long)plan->waiting, first->name, first->waits, first->waits_for);
}

static void run_trials(struct sweep_plan *plan) {
    const struct sweep_spec *spec = &plan->spec;
    sweep_suspend(plan);
    if (!spec->suspend) {
        sweep_judge(plan);
        sweep_make(plan);
    }
    plan->job.conditions.suspended = spec->suspend;
    int64_t total = sweep_trials(spec);
    const char *state = spec->suspend ? "Suspended" : plan->next > 0 ? "Running" : "Pending";
    conditions_set(&plan->job.conditions, CONDITIONS_UNDER_WAY, state,
                   "%lld of %lld trials have ended, %lld run%s%s", (long long)sweep_ended(plan),
                   (long long)total, (long long)plan->running, plan->best ? "; the best is " : "",
                   tree_text(plan->best, "trial", ""));
    report_waiting(plan);
    report_write_failures(plan);
    report_refused_change(plan);
}

static void under_way(struct sweep_plan *plan) {
    static const char *const why[] = {
        [SWEEP_END_DONE] = "all of the sweep's trials have ended",
        [SWEEP_END_LATE] = SWEEP_LATE_WORDS,
        [SWEEP_END_FAILED] = "the sweep has failed: too many trials did",
        [SWEEP_END_ALIKE] = "the sweep has failed: its trials fail alike",
    };
    sweep_read_registrar(plan);
    sweep_count(plan);
    enum sweep_end end = sweep_end_of(plan);
    if (end == SWEEP_END_NONE) {
        run_trials(plan);
    } else if (plan->running > 0) { /* the end was decided before a running trial was seen */
        sweep_stop_all(plan, why[end]);
        conditions_set(&plan->job.conditions, CONDITIONS_UNDER_WAY, "Stopping",
                       "%lld trials are being stopped: %s", (long long)plan->running, why[end]);
        report_refused_change(plan);
    } else {
        sweep_conclude(plan, end);
        if (plan->job.conditions.state == CONDITIONS_UNDER_WAY) {
            report_write_failures(plan);
        }
    }
}

/* The name of a warm-start Sweep with another metric or the opposite goal. */
static const char *other_objective(const struct sweep_plan *plan) {
    const json_t *ours = tree_get(plan->job.observed->object, "spec.objective");
    static const char *const fields[] = {"metric", "goal"};
    const char *name;
    json_t *theirs;
    json_object_foreach((json_t *)plan->observed->warm_objectives, name, theirs) {
        for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
            if (strcmp(tree_text(ours, fields[i], ""), tree_text(theirs, fields[i], "")) != 0) {
                return name;
            }
        }
    }
    return NULL;
}

static void refuse_other(struct sweep_plan *plan, const char *name) {
    const struct sweep_spec *spec = &plan->spec;
    const json_t *theirs = json_object_get(plan->observed->warm_objectives, name);
    conditions_set(
        &plan->job.conditions, CONDITIONS_UNDER_WAY, "WarmStartDiffers",
        "spec.warmStart: Sweep %.60s is about %.128s (%s), and this one about %.128s (%s): "
        "its trials do not apply here; take it out",
        name, tree_text(theirs, "metric", "?"), tree_text(theirs, "goal", "?"), spec->metric,
        goal_names[spec->goal]);
    conditions_stall(&plan->job.conditions, "WarmStartDiffers", plan->job.conditions.message);
    job_plan_wake(&plan->job, plan->job.now_ms + MISSING_AGAIN_MS);
}

/* Nothing is made, stopped or ended: trials may run. */
static void wait_for_trials(struct sweep_plan *plan) {
    plan->job.conditions.suspended = plan->spec.suspend;
    conditions_set(&plan->job.conditions, CONDITIONS_UNDER_WAY, "NotSupported", "%s", no_trials);
    conditions_stall(&plan->job.conditions, "NotSupported", no_trials);
    job_plan_wake(&plan->job, plan->job.now_ms + MISSING_AGAIN_MS);
}

/* False: the Sweep must not create anything. */
static bool may_begin(struct sweep_plan *plan) {
    const struct sweep_observed *seen = plan->observed;
    const char *other = other_objective(plan);
    struct error why = {0};
    if (trial_check(plan->job.observed->object, seen->train, &why) < 0) {
        conditions_set(&plan->job.conditions, CONDITIONS_FAILED, "SpecInvalid", "%s", why.text);
        return false;
    }
    if (seen->warm_missing) {
        conditions_set(&plan->job.conditions, CONDITIONS_UNDER_WAY, "WarmStartMissing",
                       "spec.warmStart: Sweep %.60s not found; its trials were deleted with it",
                       seen->warm_missing);
        conditions_stall(&plan->job.conditions, "WarmStartMissing", plan->job.conditions.message);
        job_plan_wake(&plan->job, plan->job.now_ms + MISSING_AGAIN_MS);
        return false;
    }
    if (other) {
        refuse_other(plan, other);
        return false;
    }
    return true;
}

/* With the same generation, a new default in the definition has changed it. */
static bool is_changed(const struct sweep_plan *plan, const char *hash) {
    const json_t *object = plan->job.observed->object;
    const char *stalled = tree_text(conditions_find(object, "Stalled"), "reason", "");
    bool is_written = tree_integer(object, "metadata.generation", 0) !=
                      tree_integer(object, "status.observedGeneration", -1);
    return strcmp(hash, plan->spec.hash) != 0 && !plan->job.observed->is_accepted &&
           (is_written || strcmp(stalled, "SpecChanged") == 0);
}

/* ---- the skeleton's callbacks ---- */

/* The job_plan is the first member. */
static struct sweep_plan *plan_of(struct job_plan *job) {
    return (struct sweep_plan *)job;
}

static void release(struct sweep_plan *plan) {
    job_plan_release(&plan->job);
    json_decref(plan->best);
}

/* Its pods are read once its spec is: only a Sweep that registers has some. */
static void read_nothing(struct job_plan *job UNUSED) {
}

static int read_spec(struct job_plan *job, struct error *err) {
    struct sweep_plan *plan = plan_of(job);
    if (plan->observed->spec) {
        plan->spec = *plan->observed->spec;
    } else if (sweep_spec_read(job->observed->object, &plan->spec, err) < 0) {
        return -1;
    }
    plan->is_readable = true;
    return 0;
}

static void go_on(struct job_plan *job) {
    struct sweep_plan *plan = plan_of(job);
    const char *hash = tree_text(job->observed->object, "status.specHash", NULL);
    if (!plan->is_readable || job->is_refused) {
        stay(plan, "SpecInvalid", job->problem.text);
    } else if (hash && is_changed(plan, hash)) {
        stay(plan, "SpecChanged",
             "spec was changed while the sweep ran; put it back, or delete the sweep and "
             "apply it again");
    } else if (plan->observed->is_blind) {
        wait_for_trials(plan);
    } else if (hash || may_begin(plan)) {
        job->conditions.spec_hash = hash ? hash : plan->spec.hash;
        under_way(plan);
        job->conditions.pods_requested = plan->next > 0;
    }
}

/* Pods are deleted only when the end is stored: until then one of them may still be what the Sweep
 * waits for. */
static void clean_up(struct job_plan *job, bool succeeded UNUSED, bool all UNUSED) {
    if (conditions_is_finished(job->observed->object)) {
        sweep_clear(plan_of(job));
    }
}

/* The end, or another reason to wait. */
static void report_news(struct job_plan *job) {
    const struct conditions *conditions = &job->conditions;
    if (conditions->state != CONDITIONS_UNDER_WAY) {
        bool is_well = conditions->state == CONDITIONS_SUCCEEDED;
        job_plan_report(job, is_well ? "Normal" : "Warning", conditions->reason, "%s",
                        conditions->message);
        return;
    }
    const json_t *object = job->observed->object;
    const char *before = tree_text(conditions_before(object), "reason", "");
    if (conditions_waits(object, conditions) && strcmp(before, conditions->reason) != 0) {
        bool is_patient = text_starts(conditions->reason, "WaitingFor") ||
                          strcmp(conditions->reason, "AfterWaiting") == 0;
        job_plan_report(job, is_patient ? "Normal" : "Warning", conditions->reason, "%s",
                        conditions->message);
    }
}

static json_t *make_status(struct job_plan *job, const json_t *object) {
    const struct sweep_plan *plan = plan_of(job);
    json_t *status = conditions_status(object, NULL, &job->conditions, job->now_ms);
    if (!job->conditions.spec_hash) {
        return status;
    }
    json_object_set_new(status, "next", json_integer(plan->next));
    json_object_set_new(status, "progress",
                        json_sprintf("%lld/%lld", (long long)sweep_ended(plan),
                                     (long long)sweep_trials(&plan->spec)));
    json_object_set_new(status, "trials",
                        json_pack("{s:I, s:I, s:I, s:I, s:I}", "running", (json_int_t)plan->running,
                                  "completed", (json_int_t)plan->completed, "stopped",
                                  (json_int_t)plan->stopped, "failed", (json_int_t)plan->failed,
                                  "deleted", (json_int_t)plan->deleted));
    if (plan->best) {
        json_object_set(status, "best", plan->best);
    }
    if (plan->spec.also_count > 0) {
        struct front_objectives objectives = sweep_objectives(&plan->spec);
        json_object_set_new(status, "front",
                            front_of(&objectives, plan->observed->rows, plan->observed->count));
    }
    return status;
}

static const struct job_plan_ops ops = {
    .begun = "status.specHash",
    .read = read_nothing,
    .read_spec = read_spec,
    .go_on = go_on,
    .clean_up = clean_up,
    .conclude = report_news,
    .status = make_status,
};

int sweep_decide(const struct sweep_observed *observed, int64_t now_ms,
                 struct plan_result *ret_result, struct error *err) {
    AUTO(release) struct sweep_plan plan = {.observed = observed};
    return job_plan_decide(&plan.job, &ops, &observed->job, now_ms, ret_result, err);
}
