// SPDX-License-Identifier: Apache-2.0
/* Counts a Sweep's trials, and decides whether and how it has ended. */
#include "lib/time/clock.h"
#include "operator/kinds/sweep/plan_state.h"
#include "operator/kinds/sweep/registrar.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- progress ---- */

static json_t *describe_best(const struct trial_row *best) {
    char text[SPACE_NUMBER_MAX], last[SPACE_NUMBER_MAX] = "nan";
    snprintf(text, sizeof text, "%.9g", best->best);
    if (!isnan(best->last)) {
        snprintf(last, sizeof last, "%.9g", best->last);
    }
    return json_pack("{s:s, s:I, s:s, s:s*, s:O, s:s*}", "trial", best->name, "index",
                     (json_int_t)best->index, "value", text, "last",
                     strcmp(last, text) == 0 ? NULL : last, "values", best->values, "resultSHA256",
                     *best->result_sha256 ? best->result_sha256 : NULL);
}

/* The best trial stays when its object is deleted; during registration it is fixed, even if a
 * better one ends late. */
static json_t *best_of(const struct sweep_plan *plan, const struct trial_row *best) {
    int64_t registered = plan->registrar.attempt > 0 ? plan->registrar.index : -1;
    const struct trial_row *chosen = sweep_find_row(plan->observed, registered);
    json_t *before = tree_get(plan->job.observed->object, "status.best");
    bool is_gone = before && !sweep_find_row(plan->observed, tree_integer(before, "index", -1));
    double value = strtod(tree_text(before, "value", "nan"), NULL);
    if (chosen && chosen->state == TRIAL_COMPLETED) {
        return describe_best(chosen);
    }
    if (before && registered >= 0 && tree_integer(before, "index", -1) == registered) {
        return json_incref(before);
    }
    if (is_gone && (!best || sweep_score(plan->spec.goal, value) >=
                                 sweep_score(plan->spec.goal, best->best))) {
        return json_incref(before);
    }
    return best ? describe_best(best) : NULL;
}

enum { ALIKE_SURE = 3 }; /* of a failure that no point avoids */

static int by_failure(const void *left, const void *right) {
    const struct trial_row *a = *(const struct trial_row *const *)left,
                           *b = *(const struct trial_row *const *)right;
    int order = strcmp(a->alike, b->alike);
    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

/* The failure that most trials share. Not once a trial has reported a value: then the space has
 * points that work, and the search is there to find them. */
static void count_alike(struct sweep_plan *plan) {
    const struct sweep_observed *seen = plan->observed;
    const struct trial_row **failed = x_calloc(seen->count + 1, sizeof *failed);
    size_t count = 0;
    bool has_value = false;
    for (size_t i = 0; i < seen->count; i++) {
        has_value |= !isnan(seen->rows[i].best);
        if (*seen->rows[i].alike) {
            failed[count++] = &seen->rows[i];
        }
    }
    qsort(failed, count, sizeof *failed, by_failure);
    for (size_t first = 0, i = 0; i < count && !has_value; i++) {
        first = strcmp(failed[first]->alike, failed[i]->alike) == 0 ? first : i;
        if ((int64_t)(i - first) + 1 > plan->alike_count) {
            plan->alike_count = (int64_t)(i - first) + 1;
            plan->alike_first = failed[first];
        }
    }
    free(failed);
}

static bool is_alike_enough(const struct sweep_plan *plan) {
    int64_t most = plan->spec.max_alike;
    if (!plan->alike_first || most == 0) {
        return false;
    }
    const char *failure = plan->alike_first->alike;
    bool is_sure =
        text_starts(failure, "CommandNotFound:") || text_starts(failure, "InputInvalid:");
    return plan->alike_count >= (is_sure ? MIN(most, ALIKE_SURE) : most);
}

void sweep_count(struct sweep_plan *plan) {
    const struct sweep_observed *seen = plan->observed;
    const struct trial_row *best = NULL;
    plan->next = MAX(tree_integer(plan->job.observed->object, "status.next", 0), 0);
    while (sweep_find_row(seen, plan->next)) {
        plan->next++;
    }
    int64_t below = 0;
    for (size_t i = 0; i < seen->count; i++) {
        const struct trial_row *row = &seen->rows[i];
        below += row->index < plan->next;
        plan->running += row->state == TRIAL_RUNNING;
        plan->completed += row->state == TRIAL_COMPLETED;
        if (row->state == TRIAL_RUNNING && row->waits) {
            plan->waiting++;
            plan->first_waiting = plan->first_waiting ? plan->first_waiting : row;
        }
        plan->stopped += row->state == TRIAL_STOPPED;
        plan->failed += row->state == TRIAL_FAILED;
        if (row->state == TRIAL_FAILED &&
            (!plan->last_failed || row->end_ms >= plan->last_failed->end_ms)) {
            plan->last_failed = row;
        }
        if (row->state == TRIAL_COMPLETED &&
            (!best ||
             sweep_score(plan->spec.goal, row->best) > sweep_score(plan->spec.goal, best->best))) {
            best = row;
        }
    }
    plan->deleted = plan->next - below;
    count_alike(plan);
    plan->best = best_of(plan, best);
}

static bool is_late(struct sweep_plan *plan) {
    int64_t start_ms = clock_parse(tree_text(plan->job.observed->object, "status.startTime", ""));
    int64_t end_ms =
        start_ms + plan->spec.active_deadline_seconds * 1000 + plan->job.observed->set_ms;
    if (plan->spec.active_deadline_seconds == 0 || start_ms < 0 || plan->spec.suspend) {
        return false;
    }
    if (end_ms > plan->job.now_ms) {
        job_plan_wake(&plan->job, end_ms);
    }
    return end_ms <= plan->job.now_ms;
}

int64_t sweep_ended(const struct sweep_plan *plan) {
    return plan->completed + plan->stopped + plan->failed + plan->deleted;
}

/* ---- the end ---- */

static void fail(struct sweep_plan *plan, const char *reason, const char *format, ...)
    PRINTF_LIKE(3, 4);
static void fail(struct sweep_plan *plan, const char *reason, const char *format, ...) {
    char what[200], cause[400] = "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (plan->last_failed) {
        snprintf(cause, sizeof cause, "; the last one, %s: %s", plan->last_failed->name,
                 plan->last_failed->failure);
    }
    conditions_set(&plan->job.conditions, CONDITIONS_FAILED, reason, "%s%s", what, cause);
}

/* "; on the front: s-0001, s-0004", or nothing with one objective. Owned. */
static char *describe_front(const struct sweep_plan *plan) {
    struct front_objectives objectives = sweep_objectives(&plan->spec);
    char names[200] = "";
    size_t used = 0;
    if (plan->spec.also_count == 0) {
        return x_strdup("");
    }
    AUTO(tree_freep)
    json_t *front = front_of(&objectives, plan->observed->rows, plan->observed->count);
    for (size_t i = 0; i < json_array_size(front); i++) {
        const char *name = tree_text(json_array_get(front, i), "trial", "");
        size_t room = sizeof names - sizeof ", ..." - used;
        if (strlen(name) + strlen(", ") >= room) {
            snprintf(names + used, sizeof names - used, ", ...");
            break;
        }
        used += (size_t)snprintf(names + used, room, "%s%s", i ? ", " : "", name);
    }
    return x_printf("; on the front: %s", used > 0 ? names : "none");
}

/* "; s-0002: files of trainer.data (train) have ... (and 3 others)", or nothing. Owned. */
static char *describe_results(const struct sweep_plan *plan) {
    const struct trial_row *first = NULL;
    long long count = 0;
    for (size_t i = 0; i < plan->observed->count; i++) {
        const struct trial_row *row = &plan->observed->rows[i];
        if (row->state == TRIAL_COMPLETED && row->result_message) {
            first = first && first->index < row->index ? first : row;
            count++;
        }
    }
    if (!first) {
        return x_strdup("");
    }
    return count == 1 ? x_printf("; %s: %.200s", first->name, first->result_message)
                      : x_printf("; %s: %.200s (and %lld others)", first->name,
                                 first->result_message, count - 1);
}

/* Marks success. registered: the name of the registered version; NULL: registering was not asked
 * for. */
static void succeed(struct sweep_plan *plan, enum sweep_end end, const char *registered) {
    char values[300] = "";
    size_t used = 0;
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(plan->best, "values"), name, value) {
        size_t room = sizeof values - sizeof ", ..." - used;
        int length = snprintf(values + used, room, "%s%s=%s", used ? ", " : "", name,
                              json_string_value(value));
        if (length < 0 || (size_t)length >= room) { /* never a truncated number */
            snprintf(values + used, sizeof values - used, "%s...", used ? ", " : "");
            break;
        }
        used += (size_t)length;
    }
    AUTO(text_freep) char *front = describe_front(plan);
    AUTO(text_freep) char *results = describe_results(plan);
    conditions_set(&plan->job.conditions, CONDITIONS_SUCCEEDED, "Completed",
                   "%sthe best of %lld trials is %s with %s %s%s%.250s: %s%s%s",
                   end == SWEEP_END_LATE                               ? "the deadline came; "
                   : sweep_trials(&plan->spec) < plan->spec.max_trials ? "all points were tried; "
                                                                       : "",
                   (long long)(plan->next - plan->deleted), tree_text(plan->best, "trial", ""),
                   plan->spec.metric, tree_text(plan->best, "value", ""),
                   registered ? ", registered as " : "", registered ? registered : "", values,
                   front, results);
}

void sweep_conclude(struct sweep_plan *plan, enum sweep_end end) {
    if (end == SWEEP_END_FAILED) {
        fail(plan, "TooManyFailures", "%lld trials failed, more than maxFailedTrials %lld",
             (long long)plan->failed, (long long)plan->spec.max_failed);
    } else if (end == SWEEP_END_ALIKE) {
        fail(plan, "TrialsFailAlike",
             "%lld trials failed alike and none reported a value (maxAlikeFailures %lld)",
             (long long)plan->alike_count, (long long)plan->spec.max_alike);
    } else if (plan->best && plan->spec.registered) {
        if (sweep_register(plan)) {
            AUTO(text_freep) char *place = registrar_place(&plan->spec);
            succeed(plan, end, place);
        }
    } else if (plan->best) {
        succeed(plan, end, NULL);
    } else if (end == SWEEP_END_LATE) {
        fail(plan, "DeadlineExceeded", "no trial completed before activeDeadlineSeconds");
    } else if (plan->last_failed && !plan->last_failed->is_silent) {
        fail(plan, "TrialsFailed", "no trial completed");
    } else if (plan->stopped > 0 && plan->failed == 0) {
        fail(plan, "TrialsFailed", "no trial completed: all were stopped (%lld)",
             (long long)plan->stopped);
    } else {
        fail(plan, "ObjectiveMissing", "no trial reported a value of %s", plan->spec.metric);
    }
}

static bool was_cut_short(const struct sweep_plan *plan) {
    for (size_t i = 0; i < plan->observed->count; i++) {
        const struct trial_row *row = &plan->observed->rows[i];
        if (row->state == TRIAL_STOPPED && text_starts(row->stop, SWEEP_LATE_WORDS)) {
            return true;
        }
    }
    return false;
}

enum sweep_end sweep_end_of(struct sweep_plan *plan) {
    bool is_registering = sweep_is_registering(plan); /* if so, a new maxTrials has no effect */
    bool have_all_ended = plan->next >= sweep_trials(&plan->spec) && plan->running == 0;
    if (plan->failed > plan->spec.max_failed && !is_registering) {
        return SWEEP_END_FAILED;
    }
    if (is_alike_enough(plan) && !is_registering) {
        return SWEEP_END_ALIKE;
    }
    if (is_late(plan) && (!have_all_ended || was_cut_short(plan))) {
        return SWEEP_END_LATE;
    }
    return is_registering || have_all_ended ? SWEEP_END_DONE : SWEEP_END_NONE;
}
