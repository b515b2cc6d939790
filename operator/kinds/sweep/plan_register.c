// SPDX-License-Identifier: Apache-2.0
/* The end of a Sweep with spec.register: a pod copies the best trial's model, and only then the
 * Sweep has succeeded. Two such pods at the same time would write the same bytes, so a replacement
 * need not wait for one on a lost node. */
#include "lib/time/clock.h"
#include "operator/cluster.h"
#include "operator/kinds/job/plan_phases.h"
#include "operator/kinds/job/waiting.h"
#include "operator/kinds/sweep/plan_state.h"
#include "operator/kinds/sweep/registrar.h"

#include <string.h>

enum {
    ATTEMPTS_MAX = 3,
    EXIT_FINAL = 2,                       /* another try would end the same way */
    START_MINUTES = 30,                   /* for a pod to start: a cluster that has to add a node */
    START_MS = START_MINUTES * 60 * 1000, /* needs about ten */
    RUN_HOURS = 2,                        /* for a pod to run: a hanging mount would never end */
    RUN_MS = RUN_HOURS * 60 * 60 * 1000,
};

void sweep_read_registrar(struct sweep_plan *plan) {
    int deaths = 0;
    for (size_t i = 0; i < json_array_size(plan->job.observed->pods); i++) {
        const json_t *pod = json_array_get(plan->job.observed->pods, i);
        if (strcmp(owned_label(pod, LABEL_ROLE) ?: "", ROLE_REGISTER) != 0) {
            continue;
        }
        struct pod_phase phase = job_plan_read_pod(&plan->job, pod);
        deaths += phase.stage == POD_PHASE_DEAD && phase.exit_code >= 0;
        if (phase.attempt > plan->registrar.attempt) {
            plan->registrar = phase;
        }
    }
    struct pod_phase *newest = &plan->registrar;
    plan->register_deaths = newest->attempt > 0 ? MAX(deaths, pod_phase_deaths(newest)) : 0;
    newest->over_ms = job_plan_ended_ms(&plan->job, newest);
}

bool sweep_is_registering(const struct sweep_plan *plan) {
    const json_t *before = conditions_find(plan->job.observed->object, "Succeeded");
    return plan->spec.registered && (plan->registrar.attempt > 0 ||
                                     strcmp(tree_text(before, "reason", ""), "Registering") == 0);
}

static void fail(struct sweep_plan *plan, const char *how, const char *cause) {
    conditions_set(
        &plan->job.conditions, CONDITIONS_FAILED, "RegisterFailed",
        "the best trial, %.60s, could not be registered%s: %.300s; its model is where that "
        "trial wrote it",
        tree_text(plan->best, "trial", ""), how, cause);
}

static void set_registering(struct sweep_plan *plan, const char *how, const char *why) {
    conditions_set(&plan->job.conditions, CONDITIONS_UNDER_WAY, "Registering",
                   "the best trial, %.60s, %s%.300s", tree_text(plan->best, "trial", ""), how, why);
}

static void make(struct sweep_plan *plan, const char *how, const char *why) {
    if (plan->spec.suspend) {
        plan->job.conditions.suspended = true;
        conditions_set(
            &plan->job.conditions, CONDITIONS_UNDER_WAY, "Suspended",
            "all trials have ended; %.60s, the best, is registered when the sweep goes on",
            tree_text(plan->best, "trial", ""));
        return;
    }
    json_t *pod = NULL;
    struct error err = {0};
    struct registrar_attempt attempt = {.train = plan->observed->train,
                                        .jobs = plan->job.observed->options,
                                        .best = plan->best,
                                        .rows = plan->observed->rows,
                                        .count = plan->observed->count,
                                        .made = plan->next,
                                        .number = plan->registrar.attempt + 1,
                                        .deaths = plan->register_deaths};
    for (int tried = 0; job_plan_next_name(&plan->job, &pod, tried); tried++) {
        if (registrar_pod(&plan->spec, &attempt, &pod, &err) < 0) {
            fail(plan, "", err.text);
            return;
        }
        attempt.number++;
    }
    json_array_append_new(plan->job.result.create, pod);
    set_registering(plan, how, why);
}

/* Creates the next attempt when it is due. */
static void replace(struct sweep_plan *plan, int64_t due_ms, const char *why) {
    if (plan->job.now_ms >= due_ms) {
        make(plan, "is registered again: ", why);
    } else {
        job_plan_wake(&plan->job, due_ms);
        set_registering(plan, "is registered again soon: ", why);
    }
}

static void died(struct sweep_plan *plan) {
    const struct pod_phase *newest = &plan->registrar;
    AUTO(text_freep) char *words = job_plan_termination_message(newest);
    if (newest->exit_code == EXIT_FINAL) {
        fail(plan, "", words);
    } else if (plan->register_deaths >= ATTEMPTS_MAX) {
        AUTO(text_freep) char *how = x_printf(", after %d attempts", plan->register_deaths);
        fail(plan, how, words);
    } else {
        replace(plan, pod_phase_replace_ms(newest, plan->register_deaths), words);
    }
}

/* Why the pod does not start, and the remedy; the caller frees it. */
static char *why_waiting(const struct sweep_plan *plan) {
    const struct pod_phase *newest = &plan->registrar;
    struct waiting waiting = {.phase = newest,
                              .is_placed_lately =
                                  newest->placed_ms > 0 &&
                                  plan->job.now_ms < newest->placed_ms + WAITING_CONFIG_MS};
    if (newest->is_unscheduled) { /* it is not a worker, so waiting_report's text does not apply */
        const char *words = *newest->message ? newest->message : newest->reason;
        int length = (int)strlen(words) - text_ends(words, ".");
        return x_printf("no node for pod %s: %.*s", newest->name, MIN(length, 200), words);
    }
    struct conditions told = {0};
    waiting_report(&waiting, &told);
    return x_strdup(told.message);
}

/* The obstacle may be removed, and the pod then starts by itself; but after the time limit the
 * Sweep has to report it. */
static void waits(struct sweep_plan *plan) {
    const struct pod_phase *newest = &plan->registrar;
    AUTO(text_freep) char *cause = why_waiting(plan);
    int64_t end_ms = newest->born_ms + START_MS;
    if (newest->born_ms > 0 && plan->job.now_ms >= end_ms) {
        AUTO(text_freep)
        char *how = x_printf(": its pod did not start in %d minutes", START_MINUTES);
        fail(plan, how, cause);
        return;
    }
    char until[21];
    clock_format(end_ms, until);
    if (newest->born_ms > 0) {
        job_plan_wake(&plan->job, end_ms);
    }
    AUTO(text_freep)
    char *why = newest->born_ms > 0 ? x_printf("%.240s; it is waited for until %s", cause, until)
                                    : x_strdup(cause);
    set_registering(plan, "is to be registered: ", why);
}

/* When it started, or was created if that is not known; 0: neither is known. */
static int64_t run_since_ms(const struct pod_phase *phase) {
    return phase->running_ms > 0 ? phase->running_ms : phase->born_ms;
}

static bool has_run_long(const struct sweep_plan *plan, const struct pod_phase *phase) {
    int64_t since_ms = run_since_ms(phase);
    return phase->stage == POD_PHASE_RUNNING && since_ms > 0 &&
           plan->job.now_ms >= since_ms + RUN_MS;
}

/* The copy is read again to verify its checksum, so it may take long, but not without limit. */
static void runs(struct sweep_plan *plan) {
    int64_t since_ms = run_since_ms(&plan->registrar);
    char since[21];
    if (since_ms <= 0) {
        set_registering(plan, "is registered", "");
        return;
    }
    clock_format(since_ms, since);
    if (has_run_long(plan, &plan->registrar)) {
        AUTO(text_freep)
        char *cause = x_printf("pod %s has run since %s and copies still, or waits for its volume",
                               plan->registrar.name, since);
        AUTO(text_freep) char *how = x_printf(" in %d hours", RUN_HOURS);
        fail(plan, how, cause);
        return;
    }
    job_plan_wake(&plan->job, since_ms + RUN_MS);
    AUTO(text_freep) char *why = x_printf("its pod has run since %s", since);
    set_registering(plan, "is registered: ", why);
}

static void leaves(struct sweep_plan *plan) {
    const struct pod_phase *newest = &plan->registrar;
    if (newest->gone_ms > 0) {
        replace(plan, newest->gone_ms + JOB_PLAN_LOST_MS, "its pod is leaving");
    } else {
        set_registering(plan, "is registered, ", "and the pod's node does not respond");
    }
}

/* The pod would register a model after its Sweep reported that this failed; and a hanging pod never
 * ends. */
void sweep_clear(struct sweep_plan *plan) {
    const json_t *pods = plan->job.observed->pods;
    for (size_t i = 0; i < json_array_size(pods); i++) {
        const json_t *pod = json_array_get(pods, i);
        struct pod_phase phase = job_plan_read_pod(&plan->job, pod);
        if (strcmp(owned_label(pod, LABEL_ROLE) ?: "", ROLE_REGISTER) == 0 &&
            (phase.stage == POD_PHASE_WAITING || has_run_long(plan, &phase))) {
            job_plan_remove_pod(&plan->job, &phase);
        }
    }
}

bool sweep_register(struct sweep_plan *plan) {
    const struct pod_phase *newest = &plan->registrar;
    if (newest->attempt == 0) {
        make(plan, "is registered", "");
        return false;
    }
    switch (newest->stage) {
    case POD_PHASE_SUCCEEDED:
        return true;
    case POD_PHASE_WAITING:
        waits(plan);
        break;
    case POD_PHASE_LEAVING:
        leaves(plan);
        break;
    case POD_PHASE_DEAD:
        died(plan);
        break;
    case POD_PHASE_RUNNING:
    default:
        runs(plan);
    }
    return false;
}
