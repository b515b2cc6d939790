// SPDX-License-Identifier: Apache-2.0
/* What plan knows of a job's pods before it decides anything. */
#include "operator/cluster.h"
#include "operator/kinds/batchscore/plan_pods.h"
#include "operator/kinds/batchscore/series.h"
#include "operator/kinds/job/plan_lives.h"

#include <string.h>

bool plan_is_coordinator(const struct life *life) {
    const char *role = owned_label(life->pod, LABEL_ROLE);
    return role && strcmp(role, "coordinator") == 0;
}

/* As the coordinator says, lately or ever, else as the volume's kind suggests. */
static bool read_excludes(const struct plan *plan) {
    const json_t *object = plan->job.observed->object;
    const json_t *told = json_object_get(plan->job.observed->progress, "exclusive");
    told = json_is_boolean(told) ? told : tree_get(object, "status.exclusive");
    return json_is_boolean(told) ? json_is_true(told)
                                 : batchscore_excludes(json_object_get(object, "spec"));
}

/* The newest speaks for the job. An older one that ends with a verdict was taken for lost and came
 * back: that is no failure of those that came after it. */
static void count_failures(struct plan *plan) {
    for (size_t i = 0; i < plan->job.life_count; i++) {
        const struct life *life = &plan->job.lives[i];
        bool is_verdict = life->exit_code == 1 || life->exit_code == 2;
        plan->coordinator_failures += plan_is_coordinator(life) && life->stage == LIFE_DEAD &&
                                      life->exit_code >= 0 &&
                                      (life == plan->coordinator || !is_verdict);
    }
    if (plan->coordinator) {
        plan->coordinator_failures =
            MAX(plan->coordinator_failures, life_deaths(plan->coordinator));
    }
}

/* Pods of a job that has become a series, or is none any more. */
static bool is_of_other_kind(const struct plan *plan, const json_t *pod) {
    const char *role = owned_label(pod, LABEL_ROLE);
    return (role && strcmp(role, ROLE_WATCH) == 0) != plan->is_series;
}

void plan_read_pods(struct plan *plan) {
    size_t count = json_array_size(plan->job.observed->pods);
    plan->excludes = read_excludes(plan);
    plan->job.lives = x_calloc(count + 1, sizeof *plan->job.lives);
    for (size_t i = 0; i < count; i++) {
        const json_t *pod = json_array_get(plan->job.observed->pods, i);
        struct life *life = &plan->job.lives[plan->job.life_count];
        *life = life_read(pod);
        if (is_of_other_kind(plan, pod)) {
            if (life->stage != LIFE_LEAVING) {
                plan_remove_pod(&plan->job, life);
            }
            continue;
        }
        plan->job.life_count++;
        life->over_ms = plan_ended_ms(&plan->job, life);
        if (!plan_drop_stray(&plan->job, life) && (plan->excludes || !plan_is_coordinator(life))) {
            plan_note_lost(&plan->job, life);
        }
        if (plan_is_coordinator(life)) {
            const struct life *newest = plan->coordinator;
            plan->coordinator = !newest || life->attempt > newest->attempt ? life : newest;
        }
    }
    count_failures(plan);
    plan_read_progress(&plan->job, plan->coordinator);
}
