// SPDX-License-Identifier: Apache-2.0
/* spec.queue: each pod is a workload of Kueue's by itself, held back by a gate until its queue has
 * room (Kueue's sources, pkg/controller/jobs/pod: a pod without a group). A group would not help:
 * it has a fixed size and starts whole, while any number of workers makes progress. */
#include "operator/kinds/batchscore/plan_pods.h"

#include <string.h>

enum {
    UNSEEN_MS = 5000, /* Kueue marks pods as they are made */
    ANEW_MS = 300000, /* pods without its mark are made again: it may be installed now */
};

bool batchscore_is_queued(const struct batchscore_plan *plan, const struct pod_phase *phase) {
    if (!plan->spec.queue || phase->stage != POD_PHASE_WAITING) {
        return false;
    }
    bool is_new = !owned_label(phase->pod, LABEL_KUEUE_MANAGED) && phase->placed_ms == 0;
    return is_new || strcmp(phase->reason, "SchedulingGated") == 0 ||
           tree_find(tree_get(phase->pod, "spec.schedulingGates"), "name", KUEUE_GATE);
}

static void report_unseen(struct batchscore_plan *plan, const struct pod_phase *phase) {
    struct conditions *conditions = &plan->job.conditions;
    conditions_set(conditions, CONDITIONS_UNDER_WAY, "QueueUnavailable",
                   "spec.queue is %.63s, and Kueue ignores pod %.80s. Install Kueue with its "
                   "integration pod for this namespace, https://kueue.sigs.k8s.io",
                   plan->spec.queue, phase->name);
    conditions_stall(conditions, "QueueUnavailable", conditions->message);
}

bool batchscore_report_queued(struct batchscore_plan *plan, const struct pod_phase *phase) {
    if (!batchscore_is_queued(plan, phase)) {
        return false;
    }
    if (owned_label(phase->pod, LABEL_KUEUE_MANAGED)) {
        conditions_set(&plan->job.conditions, CONDITIONS_UNDER_WAY, "WaitingForQueue",
                       "pod %.80s waits until queue %.63s of Kueue has room for it; why it has "
                       "none: kubectl describe workload -l kueue.x-k8s.io/job-uid=%.40s",
                       phase->name, plan->spec.queue, tree_text(phase->pod, "metadata.uid", ""));
        return true;
    }
    if (phase->born_ms > 0 && plan->job.now_ms >= phase->born_ms + UNSEEN_MS) {
        report_unseen(plan, phase);
    } else {
        job_plan_wake(&plan->job, phase->born_ms + UNSEEN_MS);
        conditions_set(&plan->job.conditions, CONDITIONS_UNDER_WAY, "Pending",
                       "pod %.80s waits for Kueue", phase->name);
    }
    return true;
}

/* Kueue's webhook sees a pod only when it is made. */
void batchscore_renew_queued(struct batchscore_plan *plan) {
    for (size_t i = 0; i < plan->job.phase_count; i++) {
        struct pod_phase *phase = &plan->job.phases[i];
        if (phase->born_ms == 0 || !batchscore_is_queued(plan, phase) ||
            owned_label(phase->pod, LABEL_KUEUE_MANAGED)) {
            continue;
        }
        int64_t due_ms = phase->born_ms + ANEW_MS;
        if (plan->job.now_ms >= due_ms) {
            job_plan_remove_pod(&plan->job, phase);
            phase->stage = POD_PHASE_LEAVING;
        } else {
            job_plan_wake(&plan->job, due_ms);
        }
    }
}
