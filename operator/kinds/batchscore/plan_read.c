// SPDX-License-Identifier: Apache-2.0
/* What plan knows of a job's pods before it decides anything. */
#include "operator/cluster.h"
#include "operator/kinds/batchscore/plan_pods.h"
#include "operator/kinds/batchscore/series.h"

#include <string.h>

bool plan_is_coordinator(const struct life *life) {
    const char *role = owned_label(life->pod, LABEL_ROLE);
    return role && strcmp(role, "coordinator") == 0;
}

void plan_remove_pod(struct plan *plan, const struct life *life) {
    json_array_append_new(plan->delete, json_pack("{s:s, s:s}", "kind", "Pod", "name", life->name));
}

/* A pod that goes with another Secret than the job's belongs to nobody: its Service was deleted and
 * made anew, or a controller that made it was replaced before it could say so. */
static bool is_stray(const struct plan *plan, const json_t *pod) {
    const char *theirs = owned_annotation(pod, ANNOTATION_SECRET);
    const char *ours = tree_text(plan->observed->object, "status.credentials.secret", NULL);
    return theirs && ours && strcmp(theirs, ours) != 0;
}

/* The coordinator's last words outlive it, and are newer than its last answer. */
static void read_progress(struct plan *plan) {
    const struct life *coordinator = plan->coordinator;
    struct error ignored = {0};
    if (coordinator && !life_is_alive(coordinator) &&
        tree_parse(coordinator->message, strlen(coordinator->message), PLAN_LAST_WORDS_MAX,
                   &plan->progress, &ignored) == 0 &&
        json_is_object(plan->progress)) {
        return;
    }
    json_decref(plan->progress);
    plan->progress = json_incref((json_t *)plan->observed->progress);
}

/* As the coordinator says, lately or ever, else as the volume's kind suggests. */
static bool read_excludes(const struct plan *plan) {
    const json_t *object = plan->observed->object;
    const json_t *told = json_object_get(plan->observed->progress, "exclusive");
    told = json_is_boolean(told) ? told : tree_get(object, "status.exclusive");
    return json_is_boolean(told) ? json_is_true(told)
                                 : batchscore_excludes(json_object_get(object, "spec"));
}

/* A node's clock may be minutes off: what waits for time to pass goes by ours. */
static int64_t when_seen_ended(const struct plan *plan, const struct life *life) {
    const json_t *seen = json_object_get(plan->observed->ended, life->name);
    return json_is_integer(seen) ? json_integer_value(seen) : MIN(life->ended_ms, plan->now_ms);
}

/* The newest speaks for the job. An older one that ends with a verdict was taken for lost and came
 * back: that is no failure of those that came after it. */
static void count_failures(struct plan *plan) {
    for (size_t i = 0; i < plan->life_count; i++) {
        const struct life *life = &plan->lives[i];
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
    size_t count = json_array_size(plan->observed->pods);
    plan->excludes = read_excludes(plan);
    plan->lives = x_calloc(count + 1, sizeof *plan->lives);
    for (size_t i = 0; i < count; i++) {
        const json_t *pod = json_array_get(plan->observed->pods, i);
        struct life *life = &plan->lives[plan->life_count];
        *life = life_read(pod);
        if (is_of_other_kind(plan, pod)) {
            if (life->stage != LIFE_LEAVING) {
                plan_remove_pod(plan, life);
            }
            continue;
        }
        plan->life_count++;
        life->over_ms = when_seen_ended(plan, life);
        if (is_stray(plan, pod)) {
            if (life_is_alive(life)) {
                plan_remove_pod(plan, life);
                life->stage = LIFE_LEAVING;
            }
        } else if (life->stage == LIFE_LEAVING && life->gone_ms > 0 &&
                   (plan->excludes || !plan_is_coordinator(life))) {
            plan_wake(plan, life->gone_ms + PLAN_LOST_MS);
            if (plan->now_ms >= life->gone_ms + PLAN_LOST_MS) {
                life->stage = LIFE_DEAD;
                life->exit_code = -1;
                life->reason = "its node is lost";
            }
        }
        if (plan_is_coordinator(life)) {
            const struct life *newest = plan->coordinator;
            plan->coordinator = !newest || life->attempt > newest->attempt ? life : newest;
        }
    }
    count_failures(plan);
    read_progress(plan);
}
