// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/plan_pods.h"

#include "lib/text/usage_error.h"
#include "operator/cluster.h"
#include "operator/kinds/job/plan_phases.h"
#include "operator/kinds/job/waiting.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
    FAILURES_MAX_EARLY = 3, /* deaths in a row that end the job before a mini-batch is done */
    FAILURES_MAX = 10,      /* and afterwards: of the coordinator, or of each worker */
    OUT_OF_MEMORY_MIN = 2,  /* workers, before the job's state reports it */
    REST_MS = 5000,  /* a worker was sent "done" while work seems left: progress may be old */
    DEAF_MS = 30000, /* a coordinator that has run this long without an answer is unreachable */
};

/* One index of a worker: all pods that have had it. */
struct slot {
    struct pod_phase newest; /* stage is meaningful when attempt > 0 */
    int deaths;              /* in a row without progress, by the program's own failure */
    bool alive;
};

static int64_t batches_done(const struct batchscore_plan *plan) {
    int64_t before = tree_integer(plan->job.observed->object, "status.miniBatches.done", 0);
    return MAX(tree_integer(plan->job.progress, "miniBatches.done", 0), before);
}

/* Ended from outside, which need not happen again: kill -9, a liveness probe. A container that ran
 * out of memory ends the same way, and will do so again. */
static bool is_killed(const struct pod_phase *phase) {
    return (phase->exit_code == 128 + SIGKILL || phase->exit_code == 128 + SIGTERM) &&
           !job_plan_ran_out_of_memory(phase);
}

/* Deaths in a row, without progress, that are too many; newest: the last of them. */
static int failures_max(const struct batchscore_plan *plan, const struct pod_phase *newest) {
    return batches_done(plan) > 0 || is_killed(newest) ? FAILURES_MAX : FAILURES_MAX_EARLY;
}

static void coordinator_succeeded(struct batchscore_plan *plan) {
    int64_t total = tree_integer(plan->job.progress, "items.total", 0);
    const char *output = tree_text(plan->job.observed->object, "spec.output.path", "");
    const char *message = tree_text(plan->job.progress, "message", "");
    if (*message) {
        conditions_set(&plan->job.conditions, CONDITIONS_SUCCEEDED, "Completed",
                       "%.200s; the results are in %.200s", message, output);
    } else if (total > 0) {
        conditions_set(&plan->job.conditions, CONDITIONS_SUCCEEDED, "Completed",
                       "%lld of %lld items are done; the results are in %.200s",
                       (long long)tree_integer(plan->job.progress, "items.done", 0),
                       (long long)total, output);
    } else {
        conditions_set(&plan->job.conditions, CONDITIONS_SUCCEEDED, "Completed",
                       "the results are in %.200s", output);
    }
}

void batchscore_verdict(struct batchscore_plan *plan) {
    const struct pod_phase *newest = plan->coordinator;
    if (!newest) {
        return;
    }
    if (newest->stage == POD_PHASE_SUCCEEDED) {
        coordinator_succeeded(plan);
    } else if (newest->stage == POD_PHASE_DEAD &&
               (newest->exit_code == 1 || newest->exit_code == 2)) {
        AUTO(text_freep) char *cause = job_plan_termination_message(newest);
        job_plan_fail(&plan->job, newest->exit_code == 1 ? "Failed" : "InputInvalid", cause,
                      newest);
    }
}

/* The coordinator is unreachable, because of a NetworkPolicy or because the controller is outside
 * the cluster. Its state is unknown until its termination message. */
static bool is_deaf(struct batchscore_plan *plan) {
    const struct pod_phase *coordinator = plan->coordinator;
    if (!coordinator || coordinator->stage != POD_PHASE_RUNNING || !coordinator->running_ms ||
        plan->job.progress || tree_get(plan->job.observed->object, "status.items")) {
        return false;
    }
    job_plan_wake(&plan->job, coordinator->running_ms + DEAF_MS);
    return plan->job.now_ms >= coordinator->running_ms + DEAF_MS;
}

static void coordinator_runs(struct batchscore_plan *plan) {
    static const struct {
        const char *state, *reason, *message;
    } states[] = {
        {"Listing", "Listing", "the input is listed"},
        {"Running", "Running", "the workers score"},
        {"Joining", "Joining", "the outputs are joined"},
        {"Succeeded", "Joining", "the coordinator finishes"},
        {"Failed", "Joining", "the coordinator finishes"},
    };
    const json_t *before = conditions_before(plan->job.observed->object);
    const char *state = tree_text(plan->job.progress, "state", "");
    conditions_set(&plan->job.conditions, CONDITIONS_UNDER_WAY, "Pending",
                   "the coordinator starts");
    if (is_deaf(plan)) {
        conditions_set(
            &plan->job.conditions, CONDITIONS_UNDER_WAY, "Unreachable",
            "the job runs, but the controller cannot ask pod %.80s at %.64s how far it is, "
            "so the workers stay %d; let it in (a NetworkPolicy?), or wait for the end",
            plan->coordinator->name, plan->job.endpoint.address, MAX(plan->spec.workers_min, 1));
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        if (strcmp(states[i].state, state) == 0) {
            const char *message = tree_text(plan->job.progress, "message", "");
            conditions_set(&plan->job.conditions, CONDITIONS_UNDER_WAY, states[i].reason, "%.400s",
                           *message ? message : states[i].message);
        } else if (!*state && strcmp(states[i].reason, tree_text(before, "reason", "")) == 0) {
            /* A single missing answer is not reported. */
            conditions_set(&plan->job.conditions, CONDITIONS_UNDER_WAY, states[i].reason, "%.400s",
                           tree_text(before, "message", ""));
        }
    }
}

/* A coordinator that may still run, although its pod is dead or leaving; NULL: none. */
static const struct pod_phase *find_lingering(const struct batchscore_plan *plan) {
    for (size_t i = 0; i < plan->job.phase_count; i++) {
        if (batchscore_is_coordinator(&plan->job.phases[i]) && !plan->job.phases[i].is_gone) {
            return &plan->job.phases[i];
        }
    }
    return NULL;
}

/* When the storage would let two coordinators write, a lost one must certainly be gone first. True:
 * nothing may be created for now. */
static bool wait_for_old(struct batchscore_plan *plan) {
    const struct pod_phase *old = plan->excludes ? NULL : find_lingering(plan);
    if (!old) {
        return false;
    }
    bool has_words = *old->reason && *old->message;
    bool is_told = json_is_boolean(tree_get(plan->job.observed->object, "status.exclusive"));
    conditions_set(
        &plan->job.conditions, CONDITIONS_UNDER_WAY, "WaitingForOldPod",
        "pod %.80s%s%.40s%s%.120s%s may still run, and the output's storage %s two "
        "coordinators apart; another is made when its node says that it has ended, or, when you "
        "know that it has, after `kubectl delete pod %.80s --force`, or, when its node is off, "
        "after `kubectl delete node` of it",
        old->name, *old->reason ? " (" : "", old->reason, has_words ? ": " : "",
        has_words ? old->message : "", *old->reason ? ")" : "",
        is_told ? "does not keep" : "is not known to keep", old->name);
    return true;
}

/* All workers wait for a coordinator whose node is silent. If its storage keeps two coordinators
 * apart, it is given up soon; otherwise another one must wait for the node's answer anyway. */
static void make_coordinator(struct batchscore_plan *plan, int attempt) {
    json_t *pod = NULL;
    for (int tried = 0; job_plan_next_name(&plan->job, &pod, tried); tried++) {
        pod = batchscore_coordinator_pod(&plan->spec, &plan->job.endpoint, attempt + tried);
    }
    if (plan->excludes) {
        batchscore_leave_lost_nodes(pod);
    } else {
        job_plan_mark_singleton(pod);
    }
    batchscore_report_coordinator(plan, pod);
    job_plan_make_pod(&plan->job, pod, plan->coordinator, plan->coordinator_failures);
}

/* The newest coordinator is dead, and did not end with a verdict. */
static void replace_coordinator(struct batchscore_plan *plan) {
    const struct pod_phase *newest = plan->coordinator;
    int failures = plan->coordinator_failures;
    AUTO(text_freep) char *cause = job_plan_termination_message(newest);
    if (failures >= failures_max(plan, newest)) {
        job_plan_fail(&plan->job,
                      job_plan_ran_out_of_memory(newest) ? "OutOfMemory" : "CoordinatorFailed",
                      cause, newest);
        return;
    }
    if (wait_for_old(plan)) {
        return;
    }
    conditions_set(&plan->job.conditions, CONDITIONS_UNDER_WAY, "Pending",
                   "a new coordinator starts: %.400s", cause);
    int64_t due_ms = pod_phase_replace_ms(newest, failures);
    if (plan->job.now_ms >= due_ms) {
        make_coordinator(plan, newest->attempt + 1);
    } else {
        job_plan_wake(&plan->job, due_ms);
    }
}

/* Sets the job's condition from its coordinator, and creates a coordinator when there is none. True
 * when workers can connect to one. */
static bool plan_coordinator(struct batchscore_plan *plan) {
    const struct pod_phase *newest = plan->coordinator;
    if (!newest) {
        conditions_set(&plan->job.conditions, CONDITIONS_UNDER_WAY, "Pending",
                       "the coordinator is made");
        make_coordinator(plan, 1);
        return !plan->spec.queue;
    }
    switch (newest->stage) {
    case POD_PHASE_WAITING:
        if (batchscore_report_queued(plan, newest)) {
            return false; /* workers without it would hold the room that it waits for */
        }
        job_plan_report_waiting(&plan->job, newest, 0, 0);
        return true;
    case POD_PHASE_RUNNING:
        coordinator_runs(plan);
        return true;
    case POD_PHASE_LEAVING:
        conditions_set(&plan->job.conditions, CONDITIONS_UNDER_WAY, "Pending",
                       "the coordinator %.80s is terminating; a new one follows when it is gone",
                       newest->name);
        if (newest->gone_ms > 0) {
            job_plan_wake(&plan->job, newest->gone_ms + JOB_PLAN_LOST_MS);
            if (plan->job.now_ms >= newest->gone_ms + JOB_PLAN_LOST_MS) {
                wait_for_old(plan);
            }
        }
        return false;
    case POD_PHASE_SUCCEEDED:
    case POD_PHASE_DEAD:
    default:
        replace_coordinator(plan);
        return json_array_size(plan->job.result.create) > 0 && !plan->spec.queue;
    }
}

static struct slot *fold_slots(const struct batchscore_plan *plan) {
    struct slot *slots = x_calloc((size_t)plan->spec.workers_max, sizeof *slots);
    const struct pod_phase **sorted = job_plan_by_attempt(&plan->job);
    for (size_t i = 0; i < plan->job.phase_count; i++) {
        const struct pod_phase *phase = sorted[i];
        if (batchscore_is_coordinator(phase) || phase->index < 0 ||
            phase->index >= plan->spec.workers_max) {
            continue;
        }
        struct slot *slot = &slots[phase->index];
        slot->alive |= pod_phase_is_alive(phase);
        slot->deaths = pod_phase_count(slot->deaths, phase);
        if (phase->attempt > slot->newest.attempt) {
            slot->newest = *phase;
        }
    }
    free(sorted);
    return slots;
}

static bool has_died_too_often(const struct batchscore_plan *plan, const struct slot *slot) {
    return slot->deaths >= failures_max(plan, &slot->newest);
}

/* A failure that every worker will have (the model, an operator, the code). NULL: there is none. */
static const struct pod_phase *find_failing(const struct batchscore_plan *plan,
                                            const struct slot *slots) {
    const struct pod_phase *last = NULL, *last_any = NULL;
    int verdicts = 0;
    bool is_usage = false;
    for (size_t i = 0; i < plan->job.phase_count; i++) {
        const struct pod_phase *phase = &plan->job.phases[i];
        if (batchscore_is_coordinator(phase) || phase->stage != POD_PHASE_DEAD ||
            !phase->is_fault) {
            continue;
        }
        last_any = !last_any || phase->ended_ms >= last_any->ended_ms ? phase : last_any;
        bool ended_by_usage = phase->exit_code == USAGE_ERROR_EXIT;
        if (phase->exit_code == 1 || phase->exit_code == 2 || ended_by_usage ||
            phase->never_started) {
            is_usage |= ended_by_usage;
            last = !last || phase->ended_ms >= last->ended_ms ? phase : last;
            verdicts++;
        }
    }
    if (batches_done(plan) == 0 && (is_usage || verdicts >= FAILURES_MAX_EARLY)) {
        return last;
    }
    for (int i = 0; i < plan->spec.workers_max; i++) {
        if (slots[i].alive || !has_died_too_often(plan, &slots[i])) {
            return NULL;
        }
    }
    return last_any;
}

static int workers_wanted(struct batchscore_plan *plan) {
    const json_t *counts = tree_get(plan->job.progress, "miniBatches");
    counts = counts ? counts : tree_get(plan->job.observed->object, "status.miniBatches");
    int64_t total = tree_integer(counts, "total", 0);
    if (total <= 0) {
        return is_deaf(plan) ? MAX(plan->spec.workers_min, 1) : plan->spec.workers_min;
    }
    int64_t left = total - tree_integer(counts, "done", 0) - tree_integer(counts, "failed", 0);
    if (left <= 0) {
        return 0;
    }
    return (int)MIN(MAX(left, plan->spec.workers_min), plan->spec.workers_max);
}

static bool may_start(struct batchscore_plan *plan, const struct slot *slot) {
    if (slot->newest.attempt == 0) {
        return true;
    }
    if (slot->alive || has_died_too_often(plan, slot)) {
        return false;
    }
    int64_t due_ms = 0; /* leaving: its leases are returned, another pod may take its place */
    if (slot->newest.stage == POD_PHASE_SUCCEEDED) {
        due_ms = slot->newest.over_ms + REST_MS;
    } else if (slot->newest.stage == POD_PHASE_DEAD) {
        due_ms = pod_phase_replace_ms(&slot->newest, slot->deaths);
    }
    if (plan->job.now_ms < due_ms) {
        job_plan_wake(&plan->job, due_ms);
    }
    return plan->job.now_ms >= due_ms;
}

bool batchscore_has_running_worker(const struct batchscore_plan *plan) {
    for (size_t i = 0; i < plan->job.phase_count; i++) {
        if (plan->job.phases[i].stage == POD_PHASE_RUNNING &&
            !batchscore_is_coordinator(&plan->job.phases[i])) {
            return true;
        }
    }
    return false;
}

/* Little work is left: workers that do not run yet are no longer needed. */
static void drop_waiting(struct batchscore_plan *plan, struct slot *slots, int too_many) {
    for (int i = plan->spec.workers_max - 1; i >= 0 && too_many > 0; i--) {
        if (slots[i].alive && slots[i].newest.stage == POD_PHASE_WAITING) {
            job_plan_remove_pod(&plan->job, &slots[i].newest);
            too_many--;
        }
    }
}

/* spec.workers.max was lowered: the last workers are deleted, and their mini-batches go to others.
 */
static void drop_surplus(struct batchscore_plan *plan) {
    for (size_t i = 0; i < plan->job.phase_count; i++) {
        const struct pod_phase *phase = &plan->job.phases[i];
        if (!batchscore_is_coordinator(phase) && pod_phase_is_alive(phase) &&
            phase->index >= plan->spec.workers_max) {
            job_plan_remove_pod(&plan->job, phase);
        }
    }
}

/* Deletes pods that the cluster removed, whose logs are not worth keeping, and those that another
 * container holds, a model server for example, with their GPUs. But until its replacement exists,
 * such a pod is the only record of its attempt, because any write of a pass may be refused or lost;
 * of a success none is needed. */
static void drop_taken_away(struct batchscore_plan *plan, const struct slot *slots) {
    for (size_t i = 0; i < plan->job.phase_count; i++) {
        const struct pod_phase *phase = &plan->job.phases[i];
        if (batchscore_is_coordinator(phase) || phase->index < 0 ||
            phase->index >= plan->spec.workers_max) {
            continue;
        }
        bool taken_away =
            phase->stage == POD_PHASE_DEAD && phase->exit_code < 0 && phase->gone_ms == 0;
        bool is_needless = phase->stage == POD_PHASE_SUCCEEDED ||
                           phase->attempt < slots[phase->index].newest.attempt;
        if ((job_plan_is_held_long(&plan->job, phase) || taken_away) && is_needless) {
            job_plan_remove_pod(&plan->job, phase);
        }
    }
}

static void plan_workers(struct batchscore_plan *plan, struct slot *slots, int wanted) {
    int alive = 0;
    drop_surplus(plan);
    drop_taken_away(plan, slots);
    for (int i = 0; i < plan->spec.workers_max; i++) {
        alive += slots[i].alive;
    }
    drop_waiting(plan, slots, alive - wanted);
    for (int i = 0; i < plan->spec.workers_max && alive < wanted; i++) {
        const struct pod_phase *newest = &slots[i].newest;
        if (!may_start(plan, &slots[i])) {
            continue;
        }
        alive++;
        if (!job_plan_takes(&plan->job, ROLE_WORKER, i)) {
            continue;
        }
        json_t *pod = NULL;
        for (int tried = 0; job_plan_next_name(&plan->job, &pod, tried); tried++) {
            pod = batchscore_worker_pod(&plan->spec, &plan->job.endpoint, i,
                                        newest->attempt + 1 + tried);
        }
        if (slots[i].deaths > 0) {
            batchscore_report_worker(newest, slots[i].deaths, failures_max(plan, newest), pod);
        }
        job_plan_make_pod(&plan->job, pod, newest->attempt > 0 ? newest : NULL, slots[i].deaths);
    }
}

/* A job whose coordinator runs, but whose workers all wait or all die of the same cause, is not
 * running. */
static void report_workers(struct batchscore_plan *plan, int wanted) {
    const struct pod_phase *waiting = NULL, *killed = NULL;
    int killed_count = 0;
    for (size_t i = 0; i < plan->job.phase_count; i++) {
        const struct pod_phase *phase = &plan->job.phases[i];
        if (batchscore_is_coordinator(phase)) {
            continue;
        }
        if (phase->stage == POD_PHASE_RUNNING) {
            return;
        }
        if (phase->stage == POD_PHASE_WAITING && (*phase->reason || phase->placed_ms)) {
            waiting = phase;
        }
        if (job_plan_ran_out_of_memory(phase)) {
            killed = !killed || phase->ended_ms >= killed->ended_ms ? phase : killed;
            killed_count++;
        }
    }
    if (strcmp(plan->job.conditions.reason, "Running") != 0) {
        return;
    }
    if (waiting && batchscore_report_queued(plan, waiting)) {
        return;
    }
    if (waiting && (waiting->is_unscheduled || killed_count < OUT_OF_MEMORY_MIN)) {
        job_plan_report_waiting(&plan->job, waiting, 0, wanted);
    } else if (killed_count >= OUT_OF_MEMORY_MIN) {
        conditions_set(
            &plan->job.conditions, CONDITIONS_UNDER_WAY, "OutOfMemory",
            "workers need more memory than they may have, %d were killed, the last was "
            "%.80s; raise spec.workers.resources.limits.memory (%.32s)",
            killed_count, killed->name,
            tree_text(plan->spec.job.json, "workers.resources.limits.memory", "none is set"));
    }
}

static void report_failing(struct batchscore_plan *plan, const struct pod_phase *culprit) {
    AUTO(text_freep) char *cause = job_plan_termination_message(culprit);
    if (job_plan_ran_out_of_memory(culprit)) {
        conditions_set(
            &plan->job.conditions, CONDITIONS_FAILED, "OutOfMemory",
            "workers need more memory than they may have; raise "
            "spec.workers.resources.limits.memory (%.32s); the last was pod %.80s",
            tree_text(plan->spec.job.json, "workers.resources.limits.memory", "none is set"),
            culprit->name);
    } else {
        job_plan_fail(&plan->job, "WorkersFailed", cause, culprit);
    }
}

/* Those whose last pod has ended; the job goes on with the others. */
static void retire(struct batchscore_plan *plan, const struct slot *slots) {
    plan->retired = json_array();
    for (int i = 0; i < plan->spec.workers_max; i++) {
        const struct pod_phase *newest = &slots[i].newest;
        if (newest->attempt > 0 && !slots[i].alive && newest->stage == POD_PHASE_DEAD &&
            has_died_too_often(plan, &slots[i])) {
            batchscore_retire(plan, i, newest, slots[i].deaths);
        }
    }
}

void batchscore_make_pods(struct batchscore_plan *plan) {
    batchscore_renew_queued(plan);
    bool there = plan_coordinator(plan);
    if (plan->job.conditions.state != CONDITIONS_UNDER_WAY) {
        return;
    }
    struct slot *slots = fold_slots(plan);
    const struct pod_phase *culprit = find_failing(plan, slots);
    if (culprit) {
        report_failing(plan, culprit);
    } else {
        retire(plan, slots);
    }
    if (!culprit && there) {
        int wanted = workers_wanted(plan);
        plan_workers(plan, slots, wanted);
        report_workers(plan, wanted);
        batchscore_report_retired(plan);
    }
    free(slots);
}

void batchscore_clean_up(struct batchscore_plan *plan, bool succeeded, bool all) {
    bool is_finished = conditions_is_finished(plan->job.observed->object);
    plan_result_clear(&plan->job.result);
    for (size_t i = 0; i < plan->job.phase_count; i++) {
        const struct pod_phase *phase = &plan->job.phases[i];
        bool worker = !batchscore_is_coordinator(phase);
        bool held = (worker || is_finished) && job_plan_is_held_long(&plan->job, phase);
        if (pod_phase_is_alive(phase) || all || held ||
            (worker && succeeded && phase->stage != POD_PHASE_LEAVING)) {
            job_plan_remove_pod(&plan->job, phase);
        }
    }
}
