// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/plan.h"

#include "operator/cluster.h"
#include "operator/kinds/batchscore/life.h"
#include "operator/kinds/batchscore/pods.h"
#include "operator/kinds/batchscore/status.h"

#include <stdlib.h>
#include <string.h>

enum {
    AGAIN_MS = 1000,
    FAILURES_MAX_EARLY = 3, /* deaths that end the job while no mini-batch has been done, */
    FAILURES_MAX = 10,      /* and later: of the coordinator, or of each worker */
    REST_MS = 5000, /* a worker that was told "done" while work seems left: progress may be old */
    LAST_WORDS_MAX = 1 << 20,
};

/* One index of a worker: all pods that have had it. */
struct slot {
    struct life newest; /* stage is meaningful when attempt > 0 */
    int deaths;         /* by the program's own doing */
    bool alive;
};

struct plan {
    const struct batchscore_observed *observed;
    struct batchscore_spec spec;
    struct endpoint endpoint;
    int64_t now_ms;
    struct life *lives; /* of observed->pods */
    size_t life_count;
    json_t *progress; /* the coordinator's last words, else its last answer; owned; may be NULL */
    json_t *apply, *delete; /* owned */
    struct outcome outcome;
};

static void plan_release(struct plan *plan) {
    batchscore_spec_release(&plan->spec);
    free(plan->lives);
    json_decref(plan->progress);
    json_decref(plan->apply);
    json_decref(plan->delete);
}

static void read_lives(struct plan *plan) {
    size_t count = json_array_size(plan->observed->pods);
    plan->lives = x_calloc(count + 1, sizeof *plan->lives);
    for (size_t i = 0; i < count; i++) {
        plan->lives[plan->life_count++] = life_read(json_array_get(plan->observed->pods, i));
    }
}

static bool is_coordinator(const struct life *life) {
    return strcmp(json_string_value(
                      json_object_get(tree_get(life->pod, "metadata.labels"), LABEL_ROLE))
                      ?: "",
                  "coordinator") == 0;
}

static void remove_pod(struct plan *plan, const struct life *life) {
    json_array_append_new(plan->delete, json_pack("{s:s, s:s}", "kind", "Pod", "name", life->name));
}

static void fail(struct plan *plan, const char *reason, const char *cause,
                 const struct life *life) {
    outcome_set(&plan->outcome, OUTCOME_FAILED, reason, "%.400s; more is in the log of pod %.80s",
                cause, life->name);
}

/* Last words are /progress JSON, or the end of a log: then the last line that says something. */
static char *last_words(const struct life *life) {
    struct error ignored = {0};
    AUTO(tree_freep) json_t *words = NULL;
    if (tree_parse(life->message, strlen(life->message), LAST_WORDS_MAX, &words, &ignored) == 0 &&
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
    return life->exit_code < 0 ? x_printf("pod %s was taken away%s%s", life->name,
                                          *life->reason ? ": " : "", life->reason)
                               : x_printf("pod %s ended with exit code %d%s%s", life->name,
                                          life->exit_code, *life->reason ? ", " : "", life->reason);
}

static int64_t batches_done(const struct plan *plan) {
    int64_t before = tree_integer(plan->observed->object, "status.miniBatches.done", 0);
    return MAX(tree_integer(plan->progress, "miniBatches.done", 0), before);
}

static int failures_max(const struct plan *plan) {
    return batches_done(plan) > 0 ? FAILURES_MAX : FAILURES_MAX_EARLY;
}

static void coordinator_succeeded(struct plan *plan) {
    int64_t total = tree_integer(plan->progress, "items.total", 0);
    if (total > 0) {
        outcome_set(&plan->outcome, OUTCOME_SUCCEEDED, "Completed",
                    "%lld of %lld items are done; the results are in %.200s",
                    (long long)tree_integer(plan->progress, "items.done", 0), (long long)total,
                    plan->spec.output_path);
    } else {
        outcome_set(&plan->outcome, OUTCOME_SUCCEEDED, "Completed", "the results are in %.200s",
                    plan->spec.output_path);
    }
}

static void coordinator_runs(struct plan *plan) {
    static const struct {
        const char *state, *reason, *message;
    } states[] = {
        {"Listing", "Listing", "the input is listed"},
        {"Running", "Running", "the workers score"},
        {"Joining", "Joining", "the outputs are joined"},
        {"Succeeded", "Joining", "the coordinator finishes"},
        {"Failed", "Joining", "the coordinator finishes"},
    };
    const json_t *before = status_condition(plan->observed->object);
    const char *state = tree_text(plan->progress, "state", "");
    outcome_set(&plan->outcome, OUTCOME_UNDER_WAY, "Pending", "the coordinator starts");
    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        if (strcmp(states[i].state, state) == 0) {
            const char *message = tree_text(plan->progress, "message", "");
            outcome_set(&plan->outcome, OUTCOME_UNDER_WAY, states[i].reason, "%.400s",
                        *message ? message : states[i].message);
        } else if (!*state && strcmp(states[i].reason, tree_text(before, "reason", "")) == 0) {
            /* One answer that did not come is no news. */
            outcome_set(&plan->outcome, OUTCOME_UNDER_WAY, states[i].reason, "%.400s",
                        tree_text(before, "message", ""));
        }
    }
}

static void say_waiting(struct plan *plan, const struct life *life) {
    outcome_set(&plan->outcome, OUTCOME_UNDER_WAY, "Pending", "pod %.80s waits%s%s%s%.400s",
                life->name, *life->reason ? ": " : " to start", life->reason,
                *life->message ? ": " : "", life->message);
}

/* The newest coordinator is dead, and not by its own verdict. */
static void replace_coordinator(struct plan *plan, const struct life *newest, int failures) {
    AUTO(text_freep) char *cause = last_words(newest);
    if (failures >= failures_max(plan)) {
        fail(plan, "CoordinatorFailed", cause, newest);
        return;
    }
    outcome_set(&plan->outcome, OUTCOME_UNDER_WAY, "Pending", "a new coordinator starts: %.400s",
                cause);
    if (plan->now_ms >= newest->ended_ms + life_back_off_ms(failures)) {
        json_array_append_new(plan->apply,
                              pods_coordinator(&plan->spec, &plan->endpoint, newest->attempt + 1));
    }
}

static const struct life *newest_coordinator(const struct plan *plan, int *ret_failures) {
    const struct life *newest = NULL;
    *ret_failures = 0;
    for (size_t i = 0; i < plan->life_count; i++) {
        const struct life *life = &plan->lives[i];
        if (is_coordinator(life)) {
            newest = !newest || life->attempt > newest->attempt ? life : newest;
            *ret_failures += life->stage == LIFE_DEAD && life->exit_code >= 0;
        }
    }
    return newest;
}

/* Decides what the job is at by its coordinator, and makes one when there is none. True when one is
 * there for workers to find. */
static bool plan_coordinator(struct plan *plan, const struct life *newest, int failures) {
    if (!newest) {
        outcome_set(&plan->outcome, OUTCOME_UNDER_WAY, "Pending", "the coordinator is made");
        json_array_append_new(plan->apply, pods_coordinator(&plan->spec, &plan->endpoint, 1));
        return true;
    }
    switch (newest->stage) {
    case LIFE_WAITING:
        say_waiting(plan, newest);
        return true;
    case LIFE_RUNNING:
        coordinator_runs(plan);
        return true;
    case LIFE_LEAVING:
        outcome_set(&plan->outcome, OUTCOME_UNDER_WAY, "Pending",
                    "the coordinator %.80s is leaving; a new one follows when it is gone",
                    newest->name);
        return false;
    case LIFE_SUCCEEDED:
        coordinator_succeeded(plan);
        return false;
    case LIFE_DEAD:
    default:
        break;
    }
    if (newest->exit_code == 1 || newest->exit_code == 2) {
        AUTO(text_freep) char *cause = last_words(newest);
        fail(plan, newest->exit_code == 1 ? "Failed" : "InputInvalid", cause, newest);
        return false;
    }
    replace_coordinator(plan, newest, failures);
    return json_array_size(plan->apply) > 0;
}

static struct slot *fold_slots(const struct plan *plan) {
    struct slot *slots = x_calloc((size_t)plan->spec.workers_max, sizeof *slots);
    for (size_t i = 0; i < plan->life_count; i++) {
        const struct life *life = &plan->lives[i];
        if (is_coordinator(life) || life->index < 0 || life->index >= plan->spec.workers_max) {
            continue;
        }
        struct slot *slot = &slots[life->index];
        slot->alive |= life_is_alive(life);
        slot->deaths += life->stage == LIFE_DEAD && life->exit_code >= 0;
        if (life->attempt > slot->newest.attempt) {
            slot->newest = *life;
        }
    }
    return slots;
}

/* The model, an operator, the code: what every worker will die of. NULL when that is not so. */
static const struct life *hopeless(const struct plan *plan, const struct slot *slots) {
    const struct life *last = NULL, *last_any = NULL;
    int verdicts = 0;
    for (size_t i = 0; i < plan->life_count; i++) {
        const struct life *life = &plan->lives[i];
        if (is_coordinator(life) || life->stage != LIFE_DEAD || life->exit_code < 0) {
            continue;
        }
        last_any = !last_any || life->ended_ms >= last_any->ended_ms ? life : last_any;
        if (life->exit_code == 1 || life->exit_code == 2 || life->never_started) {
            last = !last || life->ended_ms >= last->ended_ms ? life : last;
            verdicts++;
        }
    }
    if (batches_done(plan) == 0 && verdicts >= FAILURES_MAX_EARLY) {
        return last;
    }
    for (int i = 0; i < plan->spec.workers_max; i++) {
        if (slots[i].alive || slots[i].deaths < failures_max(plan)) {
            return NULL;
        }
    }
    return last_any;
}

static int workers_wanted(const struct plan *plan) {
    const json_t *counts = tree_get(plan->progress, "miniBatches");
    counts = counts ? counts : tree_get(plan->observed->object, "status.miniBatches");
    int64_t total = tree_integer(counts, "total", 0);
    if (total <= 0) {
        return plan->spec.workers_min;
    }
    int64_t left = total - tree_integer(counts, "done", 0) - tree_integer(counts, "failed", 0);
    if (left <= 0) {
        return 0;
    }
    return (int)MIN(MAX(left, plan->spec.workers_min), plan->spec.workers_max);
}

static bool may_start(const struct plan *plan, const struct slot *slot) {
    if (slot->newest.attempt == 0) {
        return true;
    }
    if (slot->alive || slot->deaths >= failures_max(plan)) {
        return false;
    }
    switch (slot->newest.stage) {
    case LIFE_SUCCEEDED:
        return plan->now_ms >= slot->newest.ended_ms + REST_MS;
    case LIFE_DEAD:
        return plan->now_ms >= slot->newest.ended_ms + life_back_off_ms(slot->deaths);
    default:
        return true; /* leaving: its leases go back, another may take its place */
    }
}

static void plan_workers(struct plan *plan, const struct slot *slots) {
    int alive = 0, wanted = workers_wanted(plan);
    for (int i = 0; i < plan->spec.workers_max; i++) {
        alive += slots[i].alive;
    }
    for (int i = 0; i < plan->spec.workers_max && alive < wanted; i++) {
        if (!may_start(plan, &slots[i])) {
            continue;
        }
        json_array_append_new(
            plan->apply, pods_worker(&plan->spec, &plan->endpoint, i, slots[i].newest.attempt + 1));
        alive++;
        /* What the cluster took away has no log worth keeping. */
        if (slots[i].newest.attempt > 0 && slots[i].newest.exit_code < 0) {
            remove_pod(plan, &slots[i].newest);
        }
    }
}

/* A job whose coordinator runs and whose workers all wait is waiting for nodes, not running. */
static void say_why_workers_wait(struct plan *plan) {
    const struct life *waiting = NULL;
    for (size_t i = 0; i < plan->life_count; i++) {
        const struct life *life = &plan->lives[i];
        if (is_coordinator(life)) {
            continue;
        }
        if (life->stage == LIFE_RUNNING) {
            return;
        }
        if (life->stage == LIFE_WAITING && *life->reason) {
            waiting = life;
        }
    }
    if (waiting && strcmp(plan->outcome.reason, "Running") == 0) {
        say_waiting(plan, waiting);
    }
}

/* The end frees what is held. Logs that tell why it failed stay. */
static void clean_up(struct plan *plan, bool succeeded) {
    json_array_clear(plan->apply);
    json_array_clear(plan->delete);
    for (size_t i = 0; i < plan->life_count; i++) {
        const struct life *life = &plan->lives[i];
        bool worker = !is_coordinator(life);
        if (life_is_alive(life) || (worker && succeeded && life->stage != LIFE_LEAVING)) {
            remove_pod(plan, life);
        }
    }
}

/* The coordinator's last words outlive it, and are newer than its last answer. */
static void read_progress(struct plan *plan, const struct life *coordinator) {
    struct error ignored = {0};
    if (coordinator && !life_is_alive(coordinator) &&
        tree_parse(coordinator->message, strlen(coordinator->message), LAST_WORDS_MAX,
                   &plan->progress, &ignored) == 0 &&
        json_is_object(plan->progress)) {
        return;
    }
    json_decref(plan->progress);
    plan->progress = json_incref((json_t *)plan->observed->progress);
}

static void plan_running(struct plan *plan) {
    int failures;
    const struct life *coordinator = newest_coordinator(plan, &failures);
    read_progress(plan, coordinator);
    bool there = plan_coordinator(plan, coordinator, failures);
    if (plan->outcome.state == OUTCOME_UNDER_WAY) {
        struct slot *slots = fold_slots(plan);
        const struct life *culprit = hopeless(plan, slots);
        if (culprit) {
            AUTO(text_freep) char *cause = last_words(culprit);
            fail(plan, "WorkersFailed", cause, culprit);
        } else if (there) {
            plan_workers(plan, slots);
            say_why_workers_wait(plan);
        }
        free(slots);
    }
    if (plan->outcome.state != OUTCOME_UNDER_WAY) {
        clean_up(plan, plan->outcome.state == OUTCOME_SUCCEEDED);
    }
}

static json_t *finish(struct plan *plan, json_t *status_new, const char *needs) {
    json_t *result = json_pack("{s:O, s:O, s:o}", "apply", plan->apply, "delete", plan->delete,
                               "status", status_new);
    if (needs) {
        json_object_set_new(result, "needs", json_string(needs));
    }
    return result;
}

int batchscore_plan(const struct batchscore_observed *observed, int64_t now_ms, json_t **ret_result,
                    struct error *err) {
    AUTO(plan_release)
    struct plan plan = {
        .observed = observed, .now_ms = now_ms, .apply = json_array(), .delete = json_array()};
    const json_t *object = observed->object;
    const json_t *status = json_object_get(object, "status");
    read_lives(&plan);
    if (tree_get(object, "metadata.deletionTimestamp") || batchscore_is_finished(object)) {
        const char *outcome = tree_text(status_condition(object), "status", "");
        clean_up(&plan, strcmp(outcome, "True") == 0);
        *ret_result = finish(&plan, status ? json_deep_copy(status) : json_object(), NULL);
        return 0;
    }
    struct error problem = {0};
    const struct batchscore_spec *spec = &plan.spec;
    const char *needs = NULL;
    if (batchscore_spec_read(object, observed->options, &plan.spec, &problem) < 0) {
        if (problem.kind != ERROR_INVALID) {
            *err = problem;
            return -1;
        }
        spec = NULL;
        outcome_set(&plan.outcome, OUTCOME_FAILED, "SpecInvalid", "%s", problem.text);
        clean_up(&plan, false);
    } else if (!endpoint_read(observed->service, &plan.endpoint)) {
        needs = observed->service ? NULL : "Credentials";
        outcome_set(&plan.outcome, OUTCOME_UNDER_WAY, "Pending", "the job's Service is made");
    } else {
        plan_running(&plan);
    }
    *ret_result =
        finish(&plan, status_next(object, spec, &plan.outcome, plan.progress, now_ms), needs);
    if (plan.outcome.state == OUTCOME_UNDER_WAY) {
        json_object_set_new(*ret_result, "again_ms", json_integer(AGAIN_MS));
    }
    return 0;
}
