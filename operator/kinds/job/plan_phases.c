// SPDX-License-Identifier: Apache-2.0
/* What the plans of all kinds read from pods. */
#include "operator/kinds/job/plan_phases.h"

#include "operator/kinds/job/waiting.h"

#include <stdlib.h>
#include <string.h>

enum { HELD_MS = 60000 }; /* a model server has ended 10 s after its agent */

/* /progress JSON's message, or the end of a log: its last line with text. NULL: there is none. */
char *job_plan_find_message(const struct pod_phase *phase) {
    struct error ignored = {0};
    AUTO(tree_freep) json_t *words = NULL;
    if (tree_parse(phase->message, strlen(phase->message), CONTRACT_TERMINATION_READ_MAX, &words,
                   &ignored) == 0 &&
        *tree_text(words, "message", "")) {
        return x_strdup(tree_text(words, "message", ""));
    }
    const char *end = phase->message + (words ? 0 : strlen(phase->message));
    while (end > phase->message && (end[-1] == '\n' || end[-1] == ' ')) {
        end--;
    }
    const char *start = end;
    while (start > phase->message && start[-1] != '\n') {
        start--;
    }
    if (start < end && *start != '{') { /* truncated JSON does not help people */
        return x_strndup(start, (size_t)(end - start));
    }
    return NULL;
}

/* The same, or at least how the pod ended. */
char *job_plan_termination_message(const struct pod_phase *phase) {
    char *words = job_plan_find_message(phase);
    if (words) {
        return words;
    }
    return phase->exit_code < 0
               ? x_printf("pod %s ended without an exit code%s%s", phase->name,
                          *phase->reason ? ": " : "", phase->reason)
               : x_printf("pod %s ended with exit code %d%s%s", phase->name, phase->exit_code,
                          *phase->reason ? ", " : "", phase->reason);
}

bool job_plan_ran_out_of_memory(const struct pod_phase *phase) {
    return phase->stage == POD_PHASE_DEAD && strcmp(phase->reason, "OOMKilled") == 0;
}

/* A pod that uses another Secret than the job's does not belong to the job: its Service was deleted
 * and created again, or it was made by a controller that was replaced before it could record it. */
static bool is_stray(const struct job_plan *plan, const json_t *pod) {
    const char *theirs = owned_annotation(pod, ANNOTATION_SECRET);
    const char *ours = tree_text(plan->observed->object, "status.credentials.secret", NULL);
    return theirs && ours && strcmp(theirs, ours) != 0;
}

bool job_plan_drop_stray(struct job_plan *plan, struct pod_phase *phase) {
    if (!is_stray(plan, phase->pod)) {
        return false;
    }
    if (pod_phase_is_alive(phase)) {
        job_plan_remove_pod(plan, phase);
        phase->stage = POD_PHASE_LEAVING;
    }
    return true;
}

void job_plan_read_progress(struct job_plan *plan, const struct pod_phase *hub) {
    struct error ignored = {0};
    if (hub && !pod_phase_is_alive(hub) &&
        tree_parse(hub->message, strlen(hub->message), CONTRACT_TERMINATION_READ_MAX,
                   &plan->progress, &ignored) == 0 &&
        json_is_object(plan->progress)) {
        return;
    }
    json_decref(plan->progress);
    plan->progress = json_incref((json_t *)plan->observed->progress);
}

struct pod_phase job_plan_read_pod(const struct job_plan *plan, const json_t *pod) {
    struct pod_phase phase = pod_phase_read(pod);
    const json_t *seen = json_object_get(plan->observed->leaving, phase.name);
    const json_t *set = json_object_get(plan->observed->pods_set, phase.name);
    int64_t *const times_ms[] = {&phase.born_ms, &phase.placed_ms, &phase.running_ms};
    for (size_t i = 0; i < json_array_size(set) && i < ARRAY_LEN(times_ms); i++) {
        *times_ms[i] += *times_ms[i] > 0 ? json_integer_value(json_array_get(set, i)) : 0;
    }
    if (json_is_integer(seen) && phase.gone_ms > 0 && phase.grace_ms >= 0) {
        phase.gone_ms = json_integer_value(seen) + phase.grace_ms;
    }
    return phase;
}

void job_plan_note_lost(struct job_plan *plan, struct pod_phase *phase) {
    if (phase->stage != POD_PHASE_LEAVING || phase->gone_ms <= 0) {
        return;
    }
    job_plan_wake(plan, phase->gone_ms + JOB_PLAN_LOST_MS);
    if (plan->now_ms >= phase->gone_ms + JOB_PLAN_LOST_MS) {
        phase->stage = POD_PHASE_DEAD;
        phase->exit_code = -1;
        phase->is_fault = false;
        phase->reason = "its node is lost";
    }
}

static int by_attempt(const void *left, const void *right) {
    const struct pod_phase *const *a = left, *const *b = right;
    return ((*a)->attempt > (*b)->attempt) - ((*a)->attempt < (*b)->attempt);
}

const struct pod_phase **job_plan_by_attempt(const struct job_plan *plan) {
    const struct pod_phase **sorted = x_calloc(plan->phase_count + 1, sizeof *sorted);
    for (size_t i = 0; i < plan->phase_count; i++) {
        sorted[i] = &plan->phases[i];
    }
    qsort(sorted, plan->phase_count, sizeof *sorted, by_attempt);
    return sorted;
}

/* A node's clock may be wrong by minutes, so delays are measured with ours. */
int64_t job_plan_ended_ms(const struct job_plan *plan, const struct pod_phase *phase) {
    const json_t *seen = json_object_get(plan->observed->ended, phase->name);
    return json_is_integer(seen) ? json_integer_value(seen) : MIN(phase->ended_ms, plan->now_ms);
}

bool job_plan_is_held_long(struct job_plan *plan, const struct pod_phase *phase) {
    if (!phase->is_held || phase->gone_ms > 0) {
        return false;
    }
    /* (Of a job that has ended nothing else is kept.) */
    int64_t end_ms = job_plan_time_of(plan, "status.completionTime", phase->over_ms);
    int64_t due_ms = MIN(phase->over_ms, end_ms) + HELD_MS;
    job_plan_wake(plan, due_ms);
    return plan->now_ms >= due_ms;
}

void job_plan_report_waiting(struct job_plan *plan, const struct pod_phase *phase, int running,
                             int wanted) {
    bool for_mounts = waiting_is_for_mounts(phase, plan->now_ms);
    int64_t settled_ms = phase->placed_ms > 0 ? phase->placed_ms + WAITING_CONFIG_MS : 0;
    struct waiting waiting = {
        .phase = phase,
        .running = running,
        .wanted = wanted,
        .is_placed_lately = plan->now_ms < settled_ms,
        .mount_problem = for_mounts ? tree_text(plan->observed->mounts, phase->name, NULL) : NULL,
        .service = plan->observed->service,
        .before = conditions_before(plan->observed->object),
    };
    waiting_report(&waiting, &plan->conditions);
    if (waiting_is_for_config(phase)) {
        job_plan_wake(plan, settled_ms);
    }
    if (phase->placed_ms > 0 && !for_mounts) {
        job_plan_wake(plan, phase->placed_ms + WAITING_MOUNT_MS);
    }
}

void job_plan_remove_misplaced(struct job_plan *plan) {
    const json_t *pods = plan->observed->misplaced;
    for (size_t i = 0; i < json_array_size(pods); i++) {
        const char *name = tree_text(json_array_get(pods, i), "metadata.name", "");
        plan_result_delete(&plan->result, NULL, (struct object_key){"Pod", name});
    }
}
