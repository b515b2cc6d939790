// SPDX-License-Identifier: Apache-2.0
/* What the plans of all kinds read from pods. */
#include "operator/kinds/job/plan_lives.h"

#include "operator/kinds/job/waiting.h"

#include <string.h>

/* /progress JSON, or the end of a log: then the last line that says something. NULL: nothing does.
 */
char *plan_find_words(const struct life *life) {
    struct error ignored = {0};
    AUTO(tree_freep) json_t *words = NULL;
    if (tree_parse(life->message, strlen(life->message), PLAN_LAST_WORDS_MAX, &words, &ignored) ==
            0 &&
        *tree_text(words, "message", "")) {
        return x_strdup(tree_text(words, "message", ""));
    }
    const char *end = life->message + (words ? 0 : strlen(life->message));
    while (end > life->message && (end[-1] == '\n' || end[-1] == ' ')) {
        end--;
    }
    const char *start = end;
    while (start > life->message && start[-1] != '\n') {
        start--;
    }
    if (start < end && *start != '{') { /* JSON that was cut short says nothing to people */
        return x_strndup(start, (size_t)(end - start));
    }
    return NULL;
}

/* How it ended, at least. */
char *plan_last_words(const struct life *life) {
    char *words = plan_find_words(life);
    if (words) {
        return words;
    }
    return life->exit_code < 0 ? x_printf("pod %s was taken away%s%s", life->name,
                                          *life->reason ? ": " : "", life->reason)
                               : x_printf("pod %s ended with exit code %d%s%s", life->name,
                                          life->exit_code, *life->reason ? ", " : "", life->reason);
}

bool plan_ran_out_of_memory(const struct life *life) {
    return life->stage == LIFE_DEAD && strcmp(life->reason, "OOMKilled") == 0;
}

/* A pod that goes with another Secret than the job's belongs to nobody: its Service was deleted and
 * made anew, or a controller that made it was replaced before it could say so. */
static bool is_stray(const struct job_plan *plan, const json_t *pod) {
    const char *theirs = owned_annotation(pod, ANNOTATION_SECRET);
    const char *ours = tree_text(plan->observed->object, "status.credentials.secret", NULL);
    return theirs && ours && strcmp(theirs, ours) != 0;
}

bool plan_drop_stray(struct job_plan *plan, struct life *life) {
    if (!is_stray(plan, life->pod)) {
        return false;
    }
    if (life_is_alive(life)) {
        plan_remove_pod(plan, life);
        life->stage = LIFE_LEAVING;
    }
    return true;
}

void plan_read_progress(struct job_plan *plan, const struct life *hub) {
    struct error ignored = {0};
    if (hub && !life_is_alive(hub) &&
        tree_parse(hub->message, strlen(hub->message), PLAN_LAST_WORDS_MAX, &plan->progress,
                   &ignored) == 0 &&
        json_is_object(plan->progress)) {
        return;
    }
    json_decref(plan->progress);
    plan->progress = json_incref((json_t *)plan->observed->progress);
}

void plan_note_lost(struct job_plan *plan, struct life *life) {
    if (life->stage != LIFE_LEAVING || life->gone_ms <= 0) {
        return;
    }
    plan_wake(plan, life->gone_ms + PLAN_LOST_MS);
    if (plan->now_ms >= life->gone_ms + PLAN_LOST_MS) {
        life->stage = LIFE_DEAD;
        life->exit_code = -1;
        life->reason = "its node is lost";
    }
}

/* A node's clock may be minutes off: what waits for time to pass goes by ours. */
int64_t plan_ended_ms(const struct job_plan *plan, const struct life *life) {
    const json_t *seen = json_object_get(plan->observed->ended, life->name);
    return json_is_integer(seen) ? json_integer_value(seen) : MIN(life->ended_ms, plan->now_ms);
}

void plan_tell_waiting(struct job_plan *plan, const struct life *life, int running, int wanted) {
    bool for_mounts = waiting_is_for_mounts(life, plan->now_ms);
    int64_t settled_ms = life->placed_ms > 0 ? life->placed_ms + WAITING_CONFIG_MS : 0;
    struct waiting waiting = {
        .life = life,
        .running = running,
        .wanted = wanted,
        .is_placed_lately = plan->now_ms < settled_ms,
        .mount_problem = for_mounts ? tree_text(plan->observed->mounts, life->name, NULL) : NULL,
        .before = outcome_condition(plan->observed->object, "Succeeded"),
    };
    waiting_tell(&waiting, &plan->outcome);
    if (waiting_is_for_config(life)) {
        plan_wake(plan, settled_ms);
    }
    if (life->placed_ms > 0 && !for_mounts) {
        plan_wake(plan, life->placed_ms + WAITING_MOUNT_MS);
    }
}
