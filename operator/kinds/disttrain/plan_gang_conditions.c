// SPDX-License-Identifier: Apache-2.0
/* The conditions of a gang that is under way: its hub's message, or the missing pods and the
 * reason. */
#include "operator/kinds/disttrain/gang_scheduler.h"
#include "operator/kinds/disttrain/kueue.h"
#include "operator/kinds/disttrain/plan_gang.h"
#include "operator/kinds/disttrain/status.h"
#include "operator/kinds/job/plan_phases.h"

#include "lib/time/clock.h"

#include <stdlib.h>
#include <string.h>

enum { DEAF_MS = 30000 }; /* a hub that has run this long without an answer is unreachable */

/* The hub is unreachable, because of a NetworkPolicy or because the controller is outside the
 * cluster. Its state is unknown until its termination message. */
static bool is_deaf(struct disttrain_plan *gang) {
    const struct pod_phase *hub = gang->hub;
    if (!hub->running_ms || gang->job.progress ||
        tree_integer(gang->job.observed->object, "status.workers.registered", 0) > 0) {
        return false;
    }
    job_plan_wake(&gang->job, hub->running_ms + DEAF_MS);
    return gang->job.now_ms >= hub->running_ms + DEAF_MS;
}

static void report_hub(struct disttrain_plan *gang) {
    static const char *const states[][2] = {{"Gathering", "the workers register"},
                                            {"Preparing", "the workers prepare"},
                                            {"Running", "the workers train"},
                                            {"Stopping", "the programs are ended"},
                                            {"Restarting", "all start again"}};
    struct conditions *conditions = &gang->job.conditions;
    const json_t *before = conditions_before(gang->job.observed->object);
    const char *state = tree_text(gang->job.progress, "state", "");
    conditions_set(conditions, CONDITIONS_UNDER_WAY, "Pending", "the workers start");
    if (is_deaf(gang)) {
        conditions_set(
            conditions, CONDITIONS_UNDER_WAY, "Unreachable",
            "the job runs, but the controller cannot ask pod %.80s at %.64s how far it is; "
            "let it in (a NetworkPolicy?), or wait for the end",
            gang->hub->name, gang->job.endpoint.address);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        const char *message = tree_text(gang->job.progress, "message", "");
        if (strcmp(states[i][0], state) == 0) {
            conditions_set(conditions, CONDITIONS_UNDER_WAY, states[i][0], "%.400s",
                           *message ? message : states[i][1]);
        } else if (!*state && strcmp(states[i][0], tree_text(before, "reason", "")) == 0) {
            /* A single missing answer is not reported. */
            conditions_set(conditions, CONDITIONS_UNDER_WAY, states[i][0], "%.400s",
                           tree_text(before, "message", ""));
        }
    }
}

/* The first pod that waits, preferably one with a reason. NULL: none waits. */
static const struct pod_phase *find_waiting(const struct disttrain_plan *gang,
                                            const struct gang_place *places, int *ret_running) {
    const struct pod_phase *waiting = NULL;
    *ret_running = 0;
    for (int i = 0; i < gang->spec.workers; i++) {
        const struct pod_phase *newest = &places[i].newest;
        bool waits = newest->attempt > 0 && newest->stage == POD_PHASE_WAITING;
        *ret_running += newest->attempt > 0 && newest->stage == POD_PHASE_RUNNING;
        if (waits && (!waiting || (!*waiting->reason && *newest->reason))) {
            waiting = newest;
        }
    }
    return waiting;
}

/* Kueue holds the pods back: until their turn, or because Kueue does not know them. */
static bool report_queued(struct disttrain_plan *gang, const struct pod_phase *waiting) {
    struct conditions *conditions = &gang->job.conditions;
    if (disttrain_is_unseen(gang, waiting, GANG_UNSEEN_MS)) {
        conditions_set(conditions, CONDITIONS_UNDER_WAY, "GangUnavailable",
                       "spec.gang is Kueue, and Kueue ignores pod %.80s. Install %s", waiting->name,
                       gang_scheduler_needs(GANG_KUEUE));
        conditions_stall(conditions, "GangUnavailable", conditions->message);
        return true;
    }
    if (gang->spec.gang != GANG_KUEUE || strcmp(waiting->reason, "SchedulingGated") != 0) {
        return false;
    }
    if (!kueue_is_managed(waiting->pod)) {
        return true; /* its webhook may still mark it */
    }
    conditions_set(
        conditions, CONDITIONS_UNDER_WAY, "WaitingForQueue",
        "Kueue lets %d workers go together when queue %.63s has room for them; why it has "
        "none: kubectl describe workload %.80s",
        gang->spec.workers, gang->spec.queue ? gang->spec.queue : "",
        kueue_group_of(waiting->pod) ? kueue_group_of(waiting->pod) : "");
    return true;
}

/* Kueue counts a pod on an unreachable node, and would delete its successor. */
static bool report_old_pod(struct disttrain_plan *gang, const struct gang_place *places) {
    for (int i = 0; i < gang->spec.workers; i++) {
        const struct pod_phase *newest = &places[i].newest;
        if (places[i].is_counted && newest->stage == POD_PHASE_DEAD && newest->gone_ms > 0) {
            conditions_set(
                &gang->job.conditions, CONDITIONS_UNDER_WAY, "WaitingForOldPod",
                "pod %.80s is on an unreachable node, and Kueue has no place for "
                "another until it is gone; if its machine is off: kubectl delete pod %.80s "
                "--force",
                newest->name, newest->name);
            return true;
        }
    }
    return false;
}

/* Reports that this pod has no node, so that nothing starts, or no other pod is created. */
static void report_missing(struct disttrain_plan *gang, const struct gang_place *places,
                           const struct pod_phase *waiting, int running) {
    struct conditions *conditions = &gang->job.conditions;
    int least = gang->spec.min_workers, all = gang->spec.workers;
    bool is_incomplete = running > 0 && running < least;
    const char *reason = is_incomplete ? "GangIncomplete" : conditions->reason;
    const char *words = *waiting->message ? waiting->message : waiting->reason;
    if (waiting->index == 0 && disttrain_lacks_lead(gang, places)) {
        conditions_set(conditions, CONDITIONS_UNDER_WAY, reason,
                       "Waiting for a node for pod %.80s, which leads the others: %d of %d workers "
                       "run, and no more than %d are made before it has one; %.400s",
                       waiting->name, running, all, least, words);
    } else if (is_incomplete) {
        AUTO(text_freep)
        char *enough = least < all ? x_printf("%d of them", least) : x_strdup("all of them");
        conditions_set(conditions, CONDITIONS_UNDER_WAY, reason,
                       "%d of %d workers run, and nothing starts before %s do: %.400s", running,
                       all, enough, words);
    }
}

/* While the program does not run, the message names the missing pods. */
static void report_waiting(struct disttrain_plan *gang, const struct gang_place *places) {
    int running;
    const struct pod_phase *waiting = find_waiting(gang, places, &running);
    if (strcmp(gang->job.conditions.reason, "Running") == 0 ||
        strcmp(gang->job.conditions.reason, "Unreachable") == 0 || report_old_pod(gang, places) ||
        !waiting || report_queued(gang, waiting)) {
        return;
    }
    job_plan_report_waiting(&gang->job, waiting, running, gang->spec.workers);
    if (waiting->is_unscheduled && strcmp(gang->job.conditions.reason, "VolumeFailed") != 0) {
        report_missing(gang, places, waiting, running);
    }
}

/* A gang that returns from spec.suspend, or tries again, is starting; nothing failed. */
bool disttrain_was_waiting(const struct disttrain_plan *gang) {
    static const char *const reasons[] = {"Suspended", "Pending", "GangIncomplete"};
    const json_t *before = conditions_before(gang->job.observed->object);
    const char *reason = tree_text(before, "reason", "");
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        if (strcmp(reason, reasons[i]) == 0) {
            return true;
        }
    }
    return false;
}

void disttrain_set_conditions(struct disttrain_plan *gang, const struct gang_place *places) {
    struct conditions *conditions = &gang->job.conditions;
    const struct pod_phase *hub = gang->hub;
    if (!hub && disttrain_known_attempt(gang) > 0 && !disttrain_was_waiting(gang)) {
        conditions_set(conditions, CONDITIONS_UNDER_WAY, "Restarting",
                       "all start again, led by another pod");
    } else if (!hub) {
        conditions_set(conditions, CONDITIONS_UNDER_WAY, "Pending", "the workers are made");
    } else if (hub->stage == POD_PHASE_RUNNING) {
        report_hub(gang);
    } else if (hub->stage == POD_PHASE_WAITING) {
        conditions_set(conditions, CONDITIONS_UNDER_WAY, "Pending", "the workers start");
    } else if (hub->stage == POD_PHASE_LEAVING) {
        conditions_set(
            conditions, CONDITIONS_UNDER_WAY, "Restarting",
            "pod %.80s, which leads the others, is terminating; all start again when another "
            "is in its place",
            hub->name);
    } else {
        AUTO(text_freep) char *words = job_plan_termination_message(hub);
        conditions_set(conditions, CONDITIONS_UNDER_WAY, "Restarting",
                       "pod %.80s, which led the others, is replaced: %.400s", hub->name, words);
    }
    report_waiting(gang, places);
}

/* ---- the end -------------------------------------------------------------------------------- */

static int64_t told_number(const struct disttrain_plan *gang, const char *name) {
    AUTO(text_freep) char *path = x_printf("status.%s", name);
    return tree_integer(gang->job.progress, name,
                        tree_integer(gang->job.observed->object, path, -1));
}

static const char *told_text(const struct disttrain_plan *gang, const char *name) {
    AUTO(text_freep) char *path = x_printf("status.%s", name);
    return tree_text(gang->job.progress, name, tree_text(gang->job.observed->object, path, NULL));
}

/* ": loss 0.31", ", accuracy 0.9"; "" when the hub has not reported it. The caller frees it. */
static char *told_figure(const struct disttrain_plan *gang, const char *name, const char *before) {
    const char *told = told_text(gang, name), *text = told ? told : "";
    char *end = NULL;
    double figure = strtod(text, &end);
    return *text && !*end ? x_printf("%s %s %.4g", before, name, figure) : x_strdup("");
}

/* "3 epochs, 120 steps". The caller frees it. */
static char *how_far(const struct disttrain_plan *gang) {
    int64_t epoch = told_number(gang, "epoch"), step = told_number(gang, "step");
    AUTO(text_freep)
    char *epochs = x_printf("%lld epoch%s", (long long)epoch, epoch == 1 ? "" : "s");
    AUTO(text_freep) char *steps = x_printf("%lld steps", (long long)step);
    return x_printf("%s%s%s", epoch > 0 ? epochs : "", epoch > 0 && step > 0 ? ", " : "",
                    step > 0 ? steps : "");
}

static char *how_long(const struct disttrain_plan *gang) {
    const char *begun = tree_text(gang->job.observed->object, "status.startTime", NULL);
    int64_t begun_ms = begun ? clock_parse(begun) : -1;
    long long s = (gang->hub->over_ms - begun_ms) / 1000;
    if (begun_ms <= 0 || s < 0) {
        return x_strdup("");
    }
    return s < 60     ? x_printf(" in %lld s", s)
           : s < 3600 ? x_printf(" in %lld min %lld s", s / 60, s % 60)
                      : x_printf(" in %lld h %lld min", s / 3600, s / 60 % 60);
}

/* ", 2 bad samples left out"; "" without any. The caller frees it. */
static char *how_bad(const struct disttrain_plan *gang) {
    int64_t count = told_number(gang, "badSamples.count");
    return count > 0
               ? x_printf(", %lld bad sample%s left out", (long long)count, count == 1 ? "" : "s")
               : x_strdup("");
}

/* "; the loss has not fallen: it was 2.3 at the first step"; "" if it has. The caller frees it. */
static char *how_grown(const struct disttrain_plan *gang) {
    const char *first = told_text(gang, "firstLoss");
    return disttrain_loss_has_grown(first, told_text(gang, "loss"))
               ? x_printf("; the loss has not fallen: it was %.4g at the first step",
                          strtod(first, NULL))
               : x_strdup("");
}

/* Of a training whose data has changed since it began. The caller frees it. */
static char *how_mixed(const struct disttrain_plan *gang) {
    const char *message = tree_text(gang->job.progress, "proof.resultMessage", NULL);
    return message ? x_printf("; %.160s", message) : x_strdup("");
}

static char *what_is_done(const struct disttrain_plan *gang, bool is_trainer) {
    AUTO(text_freep) char *far = how_far(gang);
    AUTO(text_freep) char *time = how_long(gang);
    AUTO(text_freep) char *loss = told_figure(gang, "loss", ":");
    AUTO(text_freep) char *accuracy = told_figure(gang, "accuracy", *loss ? "," : ":");
    AUTO(text_freep) char *bad = how_bad(gang);
    AUTO(text_freep) char *grown = how_grown(gang);
    AUTO(text_freep) char *mixed = is_trainer ? how_mixed(gang) : x_strdup("");
    const char *before = is_trainer ? " for " : " after ";
    return x_printf("%s%s%s%s%s%s%s%s%s",
                    is_trainer ? "trained" : "the program ended with exit code 0",
                    *far ? before : "", far, time, loss, accuracy, bad, grown, mixed);
}

char *disttrain_result(const struct disttrain_plan *gang, const char *message) {
    const char *output = tree_text(gang->job.progress, "outputs[0]", NULL);
    const char *trained = tree_text(gang->job.observed->object, "spec.trainer.output.path", NULL);
    AUTO(text_freep)
    char *done = *message ? x_strdup(message) : what_is_done(gang, trained != NULL);
    if (trained) {
        return x_printf("%.300s; %.200s/model.onnx is for a BatchScore's scorer.onnx.path", done,
                        trained);
    }
    return x_printf("%.300s%s%.200s", done, output ? "; the first output is " : "",
                    output ? output : "");
}
