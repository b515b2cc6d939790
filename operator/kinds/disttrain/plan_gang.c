// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/disttrain/plan_gang.h"

#include "operator/kinds/disttrain/gang_scheduler.h"
#include "operator/kinds/disttrain/kueue.h"
#include "operator/kinds/job/plan_phases.h"

#include <stdlib.h>
#include <string.h>

enum {
    REST_MS = 5000,   /* a member was sent "done" while the hub lives: its answer may be old */
    ANEW_MS = 300000, /* pods without Kueue's mark are created again: it may be installed now */
    LOST_MS = 15000, /* a member that has run for less is not the lost one, which was an earlier pod
                        of that name that a user deleted by force */
};

/* ---- what is there ---- */

void disttrain_read_pods(struct disttrain_plan *gang) {
    struct job_plan *job = &gang->job;
    size_t count = json_array_size(job->observed->pods);
    job->phases = x_calloc(count + 1, sizeof *job->phases);
    for (size_t i = 0; i < count; i++) {
        struct pod_phase *phase = &job->phases[job->phase_count++];
        *phase = job_plan_read_pod(job, json_array_get(job->observed->pods, i));
        phase->over_ms = job_plan_ended_ms(job, phase);
        if (!job_plan_drop_stray(job, phase)) {
            job_plan_note_lost(job, phase);
        }
        if (disttrain_is_hub(phase) && (!gang->hub || phase->attempt > gang->hub->attempt)) {
            gang->hub = phase;
        }
    }
    job_plan_read_progress(job, gang->hub);
    disttrain_read_wait(gang);
}

/* ---- how it ended ---- */

static void succeed(struct disttrain_plan *gang) {
    /* The message of an older answer may describe an earlier obstacle. */
    const json_t *progress = gang->job.progress;
    bool is_last = strcmp(tree_text(progress, "state", ""), "Succeeded") == 0;
    const char *message = is_last ? tree_text(progress, "message", "") : "";
    AUTO(text_freep) char *result = disttrain_result(gang, message);
    conditions_set(&gang->job.conditions, CONDITIONS_SUCCEEDED, "Completed", "%.600s", result);
}

static const char *reason_of(const struct disttrain_plan *gang, const char *fallback) {
    static const char *const reasons[] = {
        "PrepareFailed", "CommandNotFound", "RankFailed", "OutOfMemory",
        "Hung",          "InputInvalid",    "BadData"};
    const char *told = tree_text(gang->job.progress, "reason", "");
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        if (strcmp(reasons[i], told) == 0) {
            return reasons[i];
        }
    }
    return fallback;
}

static void fail_of_memory(struct disttrain_plan *gang, const struct pod_phase *phase) {
    conditions_set(
        &gang->job.conditions, CONDITIONS_FAILED, "OutOfMemory",
        "workers need more memory than they may have; raise "
        "spec.resources.limits.memory (%.32s); the last was pod %.80s",
        tree_text(gang->job.observed->object, "spec.resources.limits.memory", "none is set"),
        phase->name);
}

/* The hub counts restarts, but it cannot count those of a pod that dies with its agent. */
static void fail_of_deaths(struct disttrain_plan *gang, const struct pod_phase *phase) {
    AUTO(text_freep) char *words = job_plan_termination_message(phase);
    if (job_plan_ran_out_of_memory(phase)) {
        fail_of_memory(gang, phase);
    } else {
        job_plan_fail(&gang->job, "RankFailed", words, phase);
    }
}

static struct restarts restarts_of(const struct disttrain_plan *gang) {
    const json_t *object = gang->job.observed->object, *progress = gang->job.progress;
    struct restarts told = {
        .counted = tree_integer(progress, "restarts.counted",
                                tree_integer(object, "status.restarts.counted", 0)),
        .disrupted = tree_integer(progress, "restarts.disrupted",
                                  tree_integer(object, "status.restarts.disrupted", 0)),
        .objective = tree_get(progress, "objective") ?: tree_get(object, "status.objective")};
    told.since = tree_integer(progress, "restarts.sinceProgress",
                              tree_integer(object, "status.restarts.sinceProgress", told.counted));
    if (gang->hub && !pod_phase_is_alive(gang->hub)) {
        /* The hub's own end is one more, unless nothing ran any more: it has counted that itself.
         */
        const char *state = tree_text(progress, "state", "");
        bool ran = !*state || strcmp(state, "Running") == 0 || strcmp(state, "Stopping") == 0;
        bool has_failed = disttrain_has_failed(gang->hub), is_other = !has_failed && ran;
        told.counted += has_failed;
        told.since += has_failed;
        told.disrupted += is_other;
        told.last_end = has_failed ? "counted" : is_other ? "disrupted" : NULL;
    } else if (!gang->hub && disttrain_known_attempt(gang) > 0 && !disttrain_was_waiting(gang)) {
        told.disrupted++; /* the pod was deleted, and its record with it */
        told.last_end = "disrupted";
    }
    return told;
}

json_t *disttrain_last_restart(const struct disttrain_plan *gang) {
    const struct pod_phase *hub = gang->hub;
    bool goes_on =
        gang->job.conditions.state == CONDITIONS_UNDER_WAY && !gang->job.conditions.suspended;
    if (!hub || !goes_on || gang->wait.again_ms > 0 ||
        (hub->stage != POD_PHASE_DEAD && hub->stage != POD_PHASE_LEAVING)) {
        return NULL;
    }
    bool is_memory = job_plan_ran_out_of_memory(hub);
    AUTO(text_freep)
    char *words = hub->stage == POD_PHASE_DEAD ? job_plan_termination_message(hub) : NULL;
    AUTO(text_freep)
    char *message = x_printf("worker 0, which leads the others%s%.400s", words ? ": " : "",
                             words ? words : ", is leaving");
    const char *cause = is_memory ? "Memory" : disttrain_has_failed(hub) ? "App" : "Disruption";
    json_t *last = json_pack("{s:s, s:i, s:s*}", "cause", cause, "index", 0, "message", message);
    if (disttrain_has_failed(hub)) {
        json_object_set_new(last, "exitCode", json_integer(hub->exit_code));
    }
    return last;
}

/* Its last message takes precedence over its exit code, which is the command's. */
static bool has_failed(const struct disttrain_plan *gang) {
    const struct pod_phase *hub = gang->hub;
    return hub && hub->stage == POD_PHASE_DEAD &&
           (hub->exit_code == CONTRACT_EXIT_FAILED || hub->exit_code == CONTRACT_EXIT_INVALID ||
            strcmp(tree_text(gang->job.progress, "state", ""), "Failed") == 0);
}

/* The pod whose log shows the cause: the newest pod of the index that the hub reports. Output of
 * mpirun's ranks appears in the command's log, which is the hub's. */
static const struct pod_phase *culprit(const struct disttrain_plan *gang, const char *reason) {
    bool is_mpirun = gang->spec.command && gang->spec.launcher == LAUNCHER_MPI;
    int64_t index = tree_integer(gang->job.progress, "restarts.last.index", 0);
    const struct pod_phase *newest = gang->hub;
    if (index == 0 || (is_mpirun && strcmp(reason, "PrepareFailed") != 0)) {
        return newest;
    }
    for (size_t i = 0; i < gang->job.phase_count; i++) {
        const struct pod_phase *phase = &gang->job.phases[i];
        bool is_newer = newest->index != index || phase->attempt > newest->attempt;
        newest = phase->index == index && is_newer ? phase : newest;
    }
    return newest;
}

/* Whether its pods have died, or the gang was started again, more often than may be. */
static bool is_used_up(const struct disttrain_plan *gang, const struct gang_place *place,
                       const struct restarts *restarts) {
    /* Deaths before the last progress are forgiven as the hub's restarts are. */
    int64_t most = gang->spec.max_restarts + MAX(restarts->counted - restarts->since, (int64_t)0);
    bool is_over = restarts->since > gang->spec.max_restarts ||
                   restarts->counted > CONTRACT_LIFE_RESTARTS(gang->spec.max_restarts);
    return place->deaths > most || (disttrain_is_hub(&place->newest) && is_over);
}

void disttrain_verdict(struct disttrain_plan *gang) {
    const struct pod_phase *hub = gang->hub;
    if (hub && hub->stage == POD_PHASE_SUCCEEDED) {
        succeed(gang);
    } else if (disttrain_check_failed(gang)) {
        fail_of_deaths(gang, disttrain_previous_hub(gang));
    } else if (has_failed(gang)) {
        AUTO(text_freep) char *words = job_plan_termination_message(hub);
        const char *reason =
            reason_of(gang, hub->exit_code == CONTRACT_EXIT_INVALID ? "InputInvalid" : "Failed");
        job_plan_fail(&gang->job, reason, words, culprit(gang, reason));
    }
    if (gang->job.conditions.reason || !gang->job.spec) {
        return;
    }
    struct gang_place *places = disttrain_places(gang);
    const struct restarts restarts = restarts_of(gang);
    for (int i = 0; i < gang->spec.workers && !gang->job.conditions.reason; i++) {
        const struct pod_phase *newest = &places[i].newest;
        if (disttrain_has_failed(newest) && is_used_up(gang, &places[i], &restarts) &&
            !(i == 0 && disttrain_may_finish(gang))) {
            fail_of_deaths(gang, newest);
        }
    }
    free(places);
}

/* ---- what is missing ---- */

static bool is_lost(const json_t *lost, const char *name) {
    for (size_t i = 0; i < json_array_size(lost); i++) {
        const char *one = json_string_value(json_array_get(lost, i));
        if (one && strcmp(one, name) == 0) {
            return true;
        }
    }
    return false;
}

/* The hub reports, by name, pods that run but do not answer. Their successors have other names, so
 * an old report does not concern them. */
static void drop_lost(struct disttrain_plan *gang, struct gang_place *places) {
    const json_t *lost = json_object_get(gang->job.observed->progress, "lost");
    for (int i = 0; i < gang->spec.workers; i++) {
        const struct pod_phase *newest = &places[i].newest;
        if (newest->attempt == 0 || newest->stage != POD_PHASE_RUNNING ||
            !is_lost(lost, newest->name)) {
            continue;
        }
        int64_t due_ms = newest->running_ms + LOST_MS;
        if (gang->job.now_ms >= due_ms) {
            disttrain_dismiss(gang, &places[i]);
        } else {
            job_plan_wake(&gang->job, due_ms);
        }
    }
}

/* Pods that wait in a group of Kueue's that is over, or from before Kueue was installed, would wait
 * for ever. */
static void drop_stuck(struct disttrain_plan *gang, struct gang_place *places) {
    for (int i = 0; i < gang->spec.workers; i++) {
        const struct pod_phase *newest = &places[i].newest;
        if (newest->attempt == 0 || newest->stage != POD_PHASE_WAITING) {
            continue;
        }
        if (kueue_is_orphan(newest->pod) || disttrain_is_unseen(gang, newest, ANEW_MS)) {
            disttrain_dismiss(gang, &places[i]);
        } else if (gang->spec.gang == GANG_KUEUE && !kueue_is_managed(newest->pod)) {
            job_plan_wake(&gang->job, newest->born_ms + GANG_UNSEEN_MS);
            job_plan_wake(&gang->job, newest->born_ms + ANEW_MS);
        }
    }
}

/* A second hub is created only when the first is gone, so that an old gang is dead before a new one
 * starts. A member's place is free as soon as it leaves, because the pod with the higher attempt
 * counts. */
static bool may_start(struct disttrain_plan *gang, const struct gang_place *place) {
    const struct pod_phase *newest = &place->newest;
    if (newest->attempt == 0) {
        return true;
    }
    /* The gang has come to its end, and only the hub has still something to store. */
    if (disttrain_is_running(gang) && tree_bool(gang->job.observed->progress, "storing", false)) {
        return false;
    }
    if (place->is_alive || place->is_counted || (disttrain_is_hub(newest) && place->is_here)) {
        return false;
    }
    int64_t due_ms = 0;
    if (newest->stage == POD_PHASE_SUCCEEDED) {
        due_ms = newest->over_ms + REST_MS;
    } else if (newest->stage == POD_PHASE_DEAD) {
        struct pod_phase dead = *newest; /* a pod that a signal ended may be replaced at once */
        dead.is_fault = dead.is_fault && dead.exit_code != CONTRACT_EXIT_SIGNAL;
        due_ms = pod_phase_replace_ms(&dead, place->deaths);
    }
    job_plan_wake(&gang->job, due_ms);
    return gang->job.now_ms >= due_ms;
}

/* The attempt of the next pod in that place. Members never return to a hub with a lower attempt
 * than they have seen, even when that pod is gone. */
static int next_attempt(const struct disttrain_plan *gang, const struct gang_place *place,
                        int index) {
    int known = index == 0 ? disttrain_known_attempt(gang) : 0;
    return MAX(place->newest.attempt, known) + 1;
}

/* The group in Kueue that the next pods join: that of living pods, or a new one. The caller frees
 * it. */
static char *choose_group(const struct disttrain_plan *gang, const struct gang_place *places) {
    for (int i = 0; i < gang->spec.workers; i++) {
        const char *group = places[i].is_alive ? kueue_own_group_of(gang->job.observed->object,
                                                                    places[i].newest.pod)
                                               : NULL;
        if (group) {
            return x_strdup(group);
        }
    }
    return kueue_new_group(&gang->spec, next_attempt(gang, &places[0], 0));
}

/* Creates the object that the scheduler requires before the pods. False: it does not exist yet; the
 * reason, if known, becomes the job's condition unless it runs. */
static bool has_object(struct disttrain_plan *gang) {
    struct job_plan *job = &gang->job;
    AUTO(tree_freep) json_t *object = gang_scheduler_object(&gang->spec, job->observed->service);
    if (!object || job_plan_ensure(job, object)) {
        return true;
    }
    const struct write_failure *failure = job_plan_write_failure_of(job, object);
    if (failure && strcmp(job->conditions.reason, "Running") != 0 &&
        !job_plan_report_holder(job, failure)) {
        bool is_missing = failure->why == WRITE_FAILURE_MISSING;
        conditions_set(&job->conditions, CONDITIONS_UNDER_WAY, "GangUnavailable",
                       "spec.gang is %s, and its PodGroup %.80s cannot be made: %s%.300s",
                       disttrain_gangs[gang->spec.gang], tree_text(object, "metadata.name", ""),
                       is_missing ? "this cluster has none of that kind. Install " : "",
                       is_missing ? gang_scheduler_needs(gang->spec.gang) : failure->text);
        if (!failure->is_passing) {
            conditions_stall(&job->conditions, "GangUnavailable", job->conditions.message);
        }
    }
    return false;
}

/* Of the next pod of NAME-0, or of the one that runs: pod's ANNOTATION_FINISHES. */
static int finishes(const struct disttrain_plan *gang, const struct gang_place *places,
                    const struct restarts *restarts) {
    int so_far = gang->hub ? disttrain_finishes(gang->hub) : 0;
    bool has_failed = gang->hub && disttrain_has_failed(gang->hub);
    bool is_last = has_failed && is_used_up(gang, &places[0], restarts);
    return so_far > 0 || is_last ? so_far + has_failed : 0;
}

static void make_missing(struct disttrain_plan *gang, struct gang_place *places) {
    struct restarts restarts = restarts_of(gang);
    restarts.finishes = finishes(gang, places, &restarts);
    AUTO(text_freep) char *group = NULL;
    for (int i = 0; i < gang->spec.workers; i++) {
        const struct pod_phase *newest = &places[i].newest;
        bool is_idle = i > 0 && restarts.finishes > 0 && gang->spec.gang == GANG_NONE;
        if (is_idle || !may_start(gang, &places[i]) || !disttrain_may_create(gang, places, i)) {
            continue;
        }
        if (!group) {
            group = choose_group(gang, places);
            if (!has_object(gang)) {
                return;
            }
        }
        if (!job_plan_takes(&gang->job, ROLE_MEMBER, i)) {
            continue;
        }
        restarts.is_memory = newest->attempt > 0 && job_plan_ran_out_of_memory(newest);
        json_t *pod = NULL;
        for (int tried = 0; job_plan_next_name(&gang->job, &pod, tried); tried++) {
            pod = disttrain_member_pod(&gang->spec, &gang->job.endpoint, i,
                                       next_attempt(gang, &places[i], i) + tried, &restarts, group);
        }
        if (i == 0) {
            job_plan_mark_singleton(pod);
        }
        job_plan_make_pod(&gang->job, pod, newest->attempt > 0 ? newest : NULL, places[i].deaths);
        places[i].is_alive = true;
    }
}

/* Deletes pods that the cluster removed, whose logs are not worth keeping, and pods that still run
 * in a place that was given to another (their deletion was refused or lost). But until its
 * replacement exists, such a pod is the only record of its attempt, because any write of a pass may
 * be refused or lost. */
static void drop_replaced(struct disttrain_plan *gang, const struct gang_place *places) {
    for (size_t i = 0; i < gang->job.phase_count; i++) {
        const struct pod_phase *phase = &gang->job.phases[i];
        bool is_taken_away =
            phase->stage == POD_PHASE_DEAD && phase->exit_code < 0 && phase->gone_ms == 0;
        if ((is_taken_away || pod_phase_is_alive(phase)) && phase->index >= 0 &&
            phase->index < gang->spec.workers &&
            phase->attempt < places[phase->index].newest.attempt) {
            job_plan_remove_pod(&gang->job, phase);
        }
    }
}

void disttrain_make_pods(struct disttrain_plan *gang) {
    struct gang_place *places = disttrain_places(gang);
    drop_replaced(gang, places);
    if (!disttrain_give_up_nodes(gang, places)) {
        drop_lost(gang, places);
        drop_stuck(gang, places);
        disttrain_make_room(gang, places);
        disttrain_set_conditions(gang, places);
        make_missing(gang, places);
    }
    free(places);
}
