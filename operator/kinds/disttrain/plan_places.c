// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/disttrain/plan_places.h"

#include "operator/kinds/disttrain/kueue.h"
#include "operator/kinds/job/plan_phases.h"

bool disttrain_is_hub(const struct pod_phase *phase) {
    return phase->index == 0;
}

bool disttrain_is_running(const struct disttrain_plan *gang) {
    return gang->hub && gang->hub->stage == POD_PHASE_RUNNING;
}

bool disttrain_has_failed(const struct pod_phase *phase) {
    return phase->stage == POD_PHASE_DEAD && phase->exit_code >= 0 &&
           phase->exit_code != CONTRACT_EXIT_RETRY && phase->exit_code != CONTRACT_EXIT_SIGNAL;
}

struct gang_place *disttrain_places(const struct disttrain_plan *gang) {
    const struct job_plan *job = &gang->job;
    struct gang_place *places = x_calloc((size_t)gang->spec.workers, sizeof *places);
    for (size_t i = 0; i < job->phase_count; i++) {
        const struct pod_phase *phase = &job->phases[i];
        if (phase->index < 0 || phase->index >= gang->spec.workers) {
            continue;
        }
        struct gang_place *place = &places[phase->index];
        place->is_alive |= pod_phase_is_alive(phase);
        place->is_here |= pod_phase_is_alive(phase) || phase->stage == POD_PHASE_LEAVING;
        place->is_counted |= kueue_is_counted(phase->pod);
        place->deaths += disttrain_has_failed(phase);
        if (phase->attempt > place->newest.attempt) {
            place->newest = *phase;
        }
    }
    for (int i = 0; i < gang->spec.workers; i++) {
        const struct pod_phase *newest = &places[i].newest;
        places[i].deaths =
            MAX(places[i].deaths, newest->deaths_before + disttrain_has_failed(newest));
    }
    return places;
}

int disttrain_known_attempt(const struct disttrain_plan *gang) {
    return job_bounded(gang->job.observed->object, "status.attempt", 0, 1000000 - 1);
}

bool disttrain_is_unseen(const struct disttrain_plan *gang, const struct pod_phase *phase,
                         int64_t after_ms) {
    return gang->spec.gang == GANG_KUEUE && !kueue_is_managed(phase->pod) && phase->born_ms > 0 &&
           gang->job.now_ms >= phase->born_ms + after_ms;
}

void disttrain_dismiss(struct disttrain_plan *gang, struct gang_place *place) {
    job_plan_remove_pod(&gang->job, &place->newest);
    place->newest.stage = POD_PHASE_LEAVING;
    place->is_alive = false;
}

/* Kueue keeps a deleted pod that never ran for as long as it knows the group. In a group that is
 * not ours the pods of others may wait. */
static void let_go(struct job_plan *job, const struct pod_phase *phase) {
    const char *group = kueue_own_group_of(job->observed->object, phase->pod);
    struct object_key workload = {"Workload", group};
    if (group && kueue_is_held(phase->pod) && !plan_result_deletes(&job->result, workload)) {
        plan_result_delete(&job->result, KUEUE_API_VERSION, workload);
    }
}

void disttrain_clean_up(struct disttrain_plan *gang, bool succeeded, bool all) {
    struct job_plan *job = &gang->job;
    bool is_finished = conditions_is_finished(job->observed->object);
    plan_result_clear(&job->result);
    for (size_t i = 0; i < job->phase_count; i++) {
        const struct pod_phase *phase = &job->phases[i];
        bool is_held = is_finished && job_plan_is_held_long(job, phase);
        if (pod_phase_is_alive(phase) || all || is_held ||
            (succeeded && !disttrain_is_hub(phase) && phase->stage != POD_PHASE_LEAVING)) {
            job_plan_remove_pod(job, phase);
        }
        let_go(job, phase);
    }
}
