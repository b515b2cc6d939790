// SPDX-License-Identifier: Apache-2.0
/* Reads the state of a job's pods before plan decides. */
#include "lib/contract.h"
#include "operator/cluster.h"
#include "operator/kinds/batchscore/plan_pods.h"
#include "operator/kinds/batchscore/series.h"
#include "operator/kinds/job/plan_phases.h"

#include <stdlib.h>
#include <string.h>

bool batchscore_is_coordinator(const struct pod_phase *phase) {
    const char *role = owned_label(phase->pod, LABEL_ROLE);
    return role && strcmp(role, "coordinator") == 0;
}

/* As reported by the coordinator, now or earlier; otherwise the default for the volume's kind. */
static bool read_excludes(const struct batchscore_plan *plan) {
    const json_t *object = plan->job.observed->object;
    const json_t *told = json_object_get(plan->job.observed->progress, "exclusive");
    told = json_is_boolean(told) ? told : tree_get(object, "status.exclusive");
    return json_is_boolean(told) ? json_is_true(told)
                                 : batchscore_excludes(json_object_get(object, "spec"));
}

/* An older coordinator that ends with a verdict was considered lost and came back: this is not a
 * failure of the later ones. */
static void count_failures(struct batchscore_plan *plan) {
    const struct pod_phase **sorted = job_plan_by_attempt(&plan->job);
    for (size_t i = 0; i < plan->job.phase_count; i++) {
        const struct pod_phase *phase = sorted[i];
        bool is_verdict = phase->exit_code == 1 || phase->exit_code == 2;
        if (batchscore_is_coordinator(phase) && (phase == plan->coordinator || !is_verdict)) {
            plan->coordinator_failures = pod_phase_count(plan->coordinator_failures, phase);
        }
    }
    free(sorted);
}

/* It was asked to end, or a worker had no coordinator: the next one need not end like it. */
static bool is_blameless(const struct pod_phase *phase) {
    return phase->exit_code == CONTRACT_EXIT_SIGNAL ||
           (phase->exit_code == CONTRACT_EXIT_UNREACHABLE && !batchscore_is_coordinator(phase));
}

/* Pods from before the job became a series, or stopped being one. */
static bool is_of_other_kind(const struct batchscore_plan *plan, const json_t *pod) {
    const char *role = owned_label(pod, LABEL_ROLE);
    return (role && strcmp(role, ROLE_WATCH) == 0) != plan->is_series;
}

void batchscore_read_pods(struct batchscore_plan *plan) {
    size_t count = json_array_size(plan->job.observed->pods);
    plan->excludes = read_excludes(plan);
    plan->job.phases = x_calloc(count + 1, sizeof *plan->job.phases);
    for (size_t i = 0; i < count; i++) {
        const json_t *pod = json_array_get(plan->job.observed->pods, i);
        struct pod_phase *phase = &plan->job.phases[plan->job.phase_count];
        *phase = job_plan_read_pod(&plan->job, pod);
        if (is_of_other_kind(plan, pod)) {
            if (phase->stage != POD_PHASE_LEAVING) {
                job_plan_remove_pod(&plan->job, phase);
            }
            continue;
        }
        plan->job.phase_count++;
        phase->over_ms = job_plan_ended_ms(&plan->job, phase);
        phase->is_fault = phase->is_fault && !is_blameless(phase);
        if (!job_plan_drop_stray(&plan->job, phase) &&
            (plan->excludes || !batchscore_is_coordinator(phase))) {
            job_plan_note_lost(&plan->job, phase);
        }
        if (batchscore_is_coordinator(phase)) {
            const struct pod_phase *newest = plan->coordinator;
            plan->coordinator = !newest || phase->attempt > newest->attempt ? phase : newest;
        }
    }
    count_failures(plan);
    job_plan_read_progress(&plan->job, plan->coordinator);
}
