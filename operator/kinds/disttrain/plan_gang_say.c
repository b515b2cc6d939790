// SPDX-License-Identifier: Apache-2.0
/* What a gang that is under way says of itself: its hub's words, else who is missing, and why. */
#include "operator/kinds/disttrain/gang_objects.h"
#include "operator/kinds/disttrain/plan_gang.h"
#include "operator/kinds/job/plan_lives.h"

#include <string.h>

enum { DEAF_MS = 30000 }; /* a hub that has run so long without an answer cannot be reached */

/* A NetworkPolicy, or a controller outside the cluster: nothing is known until its last words. */
static bool is_deaf(struct gang *gang) {
    const struct life *hub = gang->hub;
    if (!hub->running_ms || gang->job.progress ||
        tree_integer(gang->job.observed->object, "status.workers.registered", 0) > 0) {
        return false;
    }
    plan_wake(&gang->job, hub->running_ms + DEAF_MS);
    return gang->job.now_ms >= hub->running_ms + DEAF_MS;
}

static void tell_hub(struct gang *gang) {
    static const char *const states[][2] = {{"Gathering", "the workers register"},
                                            {"Preparing", "the workers prepare"},
                                            {"Running", "the workers train"},
                                            {"Stopping", "all that runs is ended"},
                                            {"Restarting", "all start again"}};
    struct outcome *outcome = &gang->job.outcome;
    const json_t *before = outcome_condition(gang->job.observed->object, "Succeeded");
    const char *state = tree_text(gang->job.progress, "state", "");
    outcome_set(outcome, OUTCOME_UNDER_WAY, "Pending", "the workers start");
    if (is_deaf(gang)) {
        outcome_set(outcome, OUTCOME_UNDER_WAY, "Unreachable",
                    "the job runs, but the controller cannot ask pod %.80s at %.64s how far it is; "
                    "let it in (a NetworkPolicy?), or wait for the end",
                    gang->hub->name, gang->job.endpoint.address);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        const char *message = tree_text(gang->job.progress, "message", "");
        if (strcmp(states[i][0], state) == 0) {
            outcome_set(outcome, OUTCOME_UNDER_WAY, states[i][0], "%.400s",
                        *message ? message : states[i][1]);
        } else if (!*state && strcmp(states[i][0], tree_text(before, "reason", "")) == 0) {
            outcome_set(outcome, OUTCOME_UNDER_WAY, states[i][0], "%.400s",
                        tree_text(before, "message", "")); /* one lost answer is no news */
        }
    }
}

/* The first that waits, those with a reason before others. NULL: none waits. */
static const struct life *find_waiting(const struct gang *gang, const struct place *places,
                                       int *ret_running) {
    const struct life *waiting = NULL;
    *ret_running = 0;
    for (int i = 0; i < gang->spec.workers; i++) {
        const struct life *newest = &places[i].newest;
        bool waits = newest->attempt > 0 && newest->stage == LIFE_WAITING;
        *ret_running += newest->attempt > 0 && newest->stage == LIFE_RUNNING;
        if (waits && (!waiting || (!*waiting->reason && *newest->reason))) {
            waiting = newest;
        }
    }
    return waiting;
}

/* Kueue keeps them back: until their turn, or because nobody has told it of them. */
static bool tell_turn(struct gang *gang, const struct life *waiting) {
    struct outcome *outcome = &gang->job.outcome;
    if (gang_is_unseen(gang, waiting, GANG_UNSEEN_MS)) {
        outcome_set(outcome, OUTCOME_UNDER_WAY, "GangUnavailable",
                    "spec.gang is Kueue, and Kueue takes no notice of pod %.80s. Install %s",
                    waiting->name, gang_needs(GANG_KUEUE));
        outcome_stall(outcome, "GangUnavailable", outcome->message);
        return true;
    }
    if (gang->spec.gang != GANG_KUEUE || strcmp(waiting->reason, "SchedulingGated") != 0) {
        return false;
    }
    if (!gang_is_managed(waiting->pod)) {
        return true; /* its webhook may mark it yet */
    }
    outcome_set(outcome, OUTCOME_UNDER_WAY, "WaitingForQueue",
                "Kueue lets %d workers go together when queue %.63s has room for them; why it has "
                "none: kubectl describe workload %.80s",
                gang->spec.workers, gang->spec.queue ? gang->spec.queue : "",
                gang_group_of(waiting->pod) ? gang_group_of(waiting->pod) : "");
    return true;
}

/* Kueue counts a pod on a node that nobody hears, and would delete its successor. */
static bool tell_old_pod(struct gang *gang, const struct place *places) {
    for (int i = 0; i < gang->spec.workers; i++) {
        const struct life *newest = &places[i].newest;
        if (places[i].is_counted && newest->stage == LIFE_DEAD && newest->gone_ms > 0) {
            outcome_set(&gang->job.outcome, OUTCOME_UNDER_WAY, "WaitingForOldPod",
                        "pod %.80s is on a node that nobody hears, and Kueue has no place for "
                        "another until it is gone; if its machine is off: kubectl delete pod %.80s "
                        "--force",
                        newest->name, newest->name);
            return true;
        }
    }
    return false;
}

/* There is no node for that one, and because of that nothing starts, or nobody else is made. */
static void tell_missing(struct gang *gang, const struct place *places, const struct life *waiting,
                         int running) {
    struct outcome *outcome = &gang->job.outcome;
    int least = gang->spec.min_workers, all = gang->spec.workers;
    bool is_incomplete = running > 0 && running < least;
    const char *reason = is_incomplete ? "GangIncomplete" : outcome->reason;
    const char *words = *waiting->message ? waiting->message : waiting->reason;
    if (waiting->index == 0 && gang_lacks_lead(gang, places)) {
        outcome_set(outcome, OUTCOME_UNDER_WAY, reason,
                    "Waiting for a node for pod %.80s, which leads the others: %d of %d workers "
                    "run, and no more than %d are made before it has one; %.400s",
                    waiting->name, running, all, least, words);
    } else if (is_incomplete) {
        AUTO(text_freep)
        char *enough = least < all ? x_printf("%d of them", least) : x_strdup("all of them");
        outcome_set(outcome, OUTCOME_UNDER_WAY, reason,
                    "%d of %d workers run, and nothing starts before %s do: %.400s", running, all,
                    enough, words);
    }
}

/* While the program does not run, who is missing is what there is to say. */
static void tell_waiting(struct gang *gang, const struct place *places) {
    int running;
    const struct life *waiting = find_waiting(gang, places, &running);
    if (strcmp(gang->job.outcome.reason, "Running") == 0 ||
        strcmp(gang->job.outcome.reason, "Unreachable") == 0 || tell_old_pod(gang, places) ||
        !waiting || tell_turn(gang, waiting)) {
        return;
    }
    plan_tell_waiting(&gang->job, waiting, running, gang->spec.workers);
    if (waiting->is_unscheduled && strcmp(gang->job.outcome.reason, "VolumeFailed") != 0) {
        tell_missing(gang, places, waiting, running);
    }
}

/* Whoever comes back from spec.suspend, or comes again, starts, and nothing went wrong. */
bool gang_was_waiting(const struct gang *gang) {
    static const char *const reasons[] = {"Suspended", "Pending", "GangIncomplete"};
    const json_t *before = outcome_condition(gang->job.observed->object, "Succeeded");
    const char *reason = tree_text(before, "reason", "");
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        if (strcmp(reason, reasons[i]) == 0) {
            return true;
        }
    }
    return false;
}

void gang_say(struct gang *gang, const struct place *places) {
    struct outcome *outcome = &gang->job.outcome;
    const struct life *hub = gang->hub;
    if (!hub && gang_known_attempt(gang) > 0 && !gang_was_waiting(gang)) {
        outcome_set(outcome, OUTCOME_UNDER_WAY, "Restarting",
                    "all start again, led by another pod");
    } else if (!hub) {
        outcome_set(outcome, OUTCOME_UNDER_WAY, "Pending", "the workers are made");
    } else if (hub->stage == LIFE_RUNNING) {
        tell_hub(gang);
    } else if (hub->stage == LIFE_WAITING) {
        outcome_set(outcome, OUTCOME_UNDER_WAY, "Pending", "the workers start");
    } else if (hub->stage == LIFE_LEAVING) {
        outcome_set(outcome, OUTCOME_UNDER_WAY, "Restarting",
                    "pod %.80s, which leads the others, is leaving; all start again when another "
                    "is in its place",
                    hub->name);
    } else {
        AUTO(text_freep) char *words = plan_last_words(hub);
        outcome_set(outcome, OUTCOME_UNDER_WAY, "Restarting",
                    "pod %.80s, which led the others, is replaced: %.400s", hub->name, words);
    }
    tell_waiting(gang, places);
}
