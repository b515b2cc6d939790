// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/series.h"

#include "lib/time/clock.h"
#include "operator/cluster.h"
#include "operator/kinds/batchscore/schedule.h"
#include "operator/kinds/job/waiting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MARK_BYTES = 16,
    FUTURE_MS = 24 * 3600 * 1000, /* a due time further ahead than this came from a wrong clock */
    AT_ONCE = 2, /* pods that wait for one run are replaced at once when the spec changes, */
    WATCHER_LEAST_MS = 90000, /* and further ones, also after deaths, not before this age */
};

struct series {
    struct batchscore_plan *plan;
    json_t *lines;         /* status.runs, owned by the conditions */
    const json_t *current; /* an unfinished run; NULL: none */
    int64_t last_ms;       /* when the newest was due; 0: there is none */
    const char *mark;      /* its mark; "" */
    bool is_outdated;      /* the pod that waits is of the spec before the last change */
};

static bool is_leaving(const json_t *run) {
    return tree_get(run, "metadata.deletionTimestamp") != NULL;
}

static void read_runs(struct series *series) {
    const json_t *runs = series->plan->runs;
    const json_t *newest = json_array_get(series->lines, 0);
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);
        if (!conditions_is_finished(run)) {
            series->current = run;
        }
    }
    series->last_ms = MAX(clock_parse(tree_text(newest, "time", "")), 0);
    series->mark = tree_text(newest, "mark", "");
}

/* Deletes all but the last ten finished runs, with their pods' logs; their results always stay. */
static void drop_old(const struct series *series) {
    const json_t *runs = series->plan->runs;
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);
        const char *name = tree_text(run, "metadata.name", "");
        if (conditions_is_finished(run) && !is_leaving(run) &&
            !tree_find(series->lines, "name", name)) {
            plan_result_delete(&series->plan->job.result, NULL, object_key_of(run));
        }
    }
}

static void drop_watchers(struct batchscore_plan *plan) {
    for (size_t i = 0; i < plan->job.phase_count; i++) {
        if (plan->job.phases[i].stage != POD_PHASE_LEAVING) {
            job_plan_remove_pod(&plan->job, &plan->job.phases[i]);
        }
    }
}

static void set_reason(struct batchscore_plan *plan, const char *reason, const char *text) {
    conditions_set(&plan->job.conditions, CONDITIONS_UNDER_WAY, reason, "%s", text);
    plan->job.conditions.pods_requested = true;
}

static void refuse(struct series *series, const struct series_start *start, const char *problem) {
    struct batchscore_plan *plan = series->plan;
    json_array_insert_new(series->lines, 0, series_refused(start, problem));
    if (json_array_size(series->lines) > SERIES_RUNS_KEPT) {
        json_array_remove(series->lines, SERIES_RUNS_KEPT);
    }
    job_plan_report(&plan->job, "Warning", "RunRefused", "%s", problem);
    conditions_set(&plan->job.conditions, CONDITIONS_UNDER_WAY, "Armed", "no run was started: %s",
                   problem);
    plan->job.conditions.pods_requested = true;
}

static void start_run(struct series *series, const struct series_start *start) {
    struct batchscore_plan *plan = series->plan;
    struct error problem = {0};
    json_t *run = NULL;
    if (series_make_run(plan->job.observed->object, plan->job.observed->options, start, &run,
                        &problem) < 0) {
        refuse(series, start, problem.text);
        return;
    }
    job_plan_choose_name(&plan->job, run); /* its number says which run it is (ANNOTATION_RUN) */
    const char *name = tree_text(run, "metadata.name", "");
    char time[21];
    clock_format(start->time_ms, time);
    json_array_append_new(plan->job.result.create, run);
    job_plan_event(&plan->job, "Normal", "RunStarted", name, "run %s of %s, into %s", name, time,
                   tree_text(run, "spec.output.path", ""));
    AUTO(text_freep) char *text = x_printf("run %s starts", name);
    set_reason(plan, "Running", text);
    plan->job.conditions.pods_requested = false;
}

/* ---- schedule ------------------------------------------------------------------------------- */

/* Due times before the job was created or resumed do not start runs. A time far in the future came
 * from a wrong clock and is ignored. */
static int64_t base_of(const struct series *series) {
    const struct batchscore_plan *plan = series->plan;
    int64_t begun_ms = clock_parse(tree_text(plan->job.observed->object, "status.startTime", ""));
    bool was_suspended = !tree_get(plan->job.observed->object, "status.startTime");
    begun_ms = was_suspended || begun_ms > plan->job.now_ms ? plan->job.now_ms : begun_ms;
    int64_t last_ms = series->last_ms > plan->job.now_ms + FUTURE_MS ? 0 : series->last_ms;
    return MAX(begun_ms, last_ms) / 1000;
}

static void plan_schedule(struct series *series) {
    struct batchscore_plan *plan = series->plan;
    const struct batchscore_schedule *schedule = plan->schedule;
    if (!schedule || !schedule->zone) {
        const char *problem = schedule ? schedule->problem.text : "spec.schedule: is not read";
        set_reason(plan, "ScheduleInvalid", problem);
        conditions_stall(&plan->job.conditions, "ScheduleInvalid", problem);
        return;
    }
    int64_t now_s = plan->job.now_ms / 1000;
    int64_t next_s = cron_next(&schedule->cron, schedule->zone, now_s);
    plan->job.conditions.next_ms = MAX(next_s, 0) * 1000;
    if (series->current) {
        return;
    }
    int64_t due_s = cron_last(&schedule->cron, schedule->zone, base_of(series), now_s);
    if (due_s >= 0) {
        struct series_start start = {.number = series_number(series->lines) + 1,
                                     .time_ms = 1000 * due_s};
        start_run(series, &start);
        return;
    }
    char next[21] = "never";
    if (next_s >= 0) {
        clock_format(1000 * next_s, next);
        job_plan_wake(&plan->job, 1000 * next_s);
    }
    AUTO(text_freep) char *text = x_printf("the next run is due at %s", next);
    set_reason(plan, "Scheduled", text);
}

/* ---- trigger and rerun ---------------------------------------------------------------------- */

static void make_watcher(struct series *series, int64_t number, int attempt, int deaths) {
    struct batchscore_plan *plan = series->plan;
    json_t *pod = NULL;
    for (int tried = 0; job_plan_next_name(&plan->job, &pod, tried); tried++) {
        pod = batchscore_watch_pod(&plan->spec, number, attempt + tried, series->mark);
    }
    json_t *annotations = tree_get(pod, "metadata.annotations");
    if (deaths > 0) {
        json_object_set_new(annotations, ANNOTATION_DEATHS, json_sprintf("%d", deaths));
    }
    json_array_append_new(plan->job.result.create, pod);
}

static void report_armed(struct series *series) {
    const char *trigger = tree_text(series->plan->spec.job.json, "trigger.path", NULL);
    const json_t *newest = json_array_get(series->lines, 0);
    AUTO(text_freep)
    char *text = !trigger  ? x_strdup(newest ? "waits until the input changes"
                                             : "waits until there is something in the input")
                 : !newest ? x_printf("waits until %s is there", trigger)
                           : x_printf("waits until %s is written again", trigger);
    if (newest) {
        bool is_refused = strcmp(tree_text(newest, "state", ""), "Refused") == 0;
        AUTO(text_freep) char *before = TAKE(text);
        text = is_refused ? x_printf("%s; no run was started: %.300s", before,
                                     tree_text(newest, "message", ""))
                          : x_printf("%s; the last run, %s: %s", before,
                                     tree_text(newest, "name", ""), tree_text(newest, "state", ""));
    }
    if (series->is_outdated) {
        AUTO(text_freep) char *before = TAKE(text);
        text = x_printf("%s; the pod that waits has the spec of before the last change, and is "
                        "replaced within 90 s",
                        before);
    }
    set_reason(series->plan, "Armed", text);
}

/* Reads the message of a watcher that has found something. False: it is not valid. */
static bool take_words(struct series *series, const struct pod_phase *watcher) {
    struct error ignored = {0};
    AUTO(tree_freep) json_t *words = NULL;
    struct batchscore_plan *plan = series->plan;
    if (tree_parse(watcher->message, strlen(watcher->message), CONTRACT_TERMINATION_READ_MAX,
                   &words, &ignored) < 0) {
        return false;
    }
    const char *mark = tree_text(words, "mark", "");
    const char *problem = tree_text(words, "problem", NULL);
    if (strlen(mark) != MARK_BYTES || strspn(mark, "0123456789abcdef") != MARK_BYTES) {
        return false;
    }
    struct series_start start = {.number = series_number(series->lines) + 1,
                                 .time_ms = MAX(plan->job.now_ms, series->last_ms + 1000),
                                 .mark = mark,
                                 .input = tree_text(words, "input", NULL)};
    if (series->last_ms > plan->job.now_ms + FUTURE_MS) {
        start.time_ms = plan->job.now_ms;
    }
    if (problem) {
        refuse(series, &start, problem);
    } else {
        start_run(series, &start);
    }
    return true;
}

static void watcher_ended(struct series *series, const struct pod_phase *watcher, int64_t number) {
    struct batchscore_plan *plan = series->plan;
    int deaths = pod_phase_deaths(watcher);
    struct error ignored = {0};
    AUTO(tree_freep) json_t *words = NULL;
    int parsed = tree_parse(watcher->message, strlen(watcher->message),
                            CONTRACT_TERMINATION_READ_MAX, &words, &ignored);
    const char *why = parsed == 0 ? tree_text(words, "message", "") : watcher->message;
    AUTO(text_freep)
    char *text = x_printf("pod %s, which waits, ended with exit code %d%s%.40s%s%.300s",
                          watcher->name, watcher->exit_code, *watcher->reason ? ", " : "",
                          watcher->reason, *why ? ": " : "", why);
    set_reason(plan, "Armed", text);
    if (watcher->exit_code == 2) {
        conditions_stall(&plan->job.conditions, "WatchFailed", text);
    }
    int64_t due_ms = pod_phase_replace_ms(watcher, deaths);
    job_plan_wake(&plan->job, due_ms);
    if (plan->job.now_ms >= due_ms) {
        make_watcher(series, number, watcher->attempt + 1, deaths);
    }
}

static void report_waiting(struct series *series, const struct pod_phase *watcher) {
    struct batchscore_plan *plan = series->plan;
    bool for_mounts = waiting_is_for_mounts(watcher, plan->job.now_ms);
    struct waiting waiting = {
        .phase = watcher,
        .mount_problem =
            for_mounts ? tree_text(plan->job.observed->mounts, watcher->name, NULL) : NULL,
        .service = plan->job.observed->service,
        .before = conditions_before(plan->job.observed->object),
    };
    report_armed(series);
    if (*watcher->reason || for_mounts || watcher->is_unscheduled) {
        waiting_report(&waiting, &plan->job.conditions);
    }
    if (watcher->placed_ms > 0 && !for_mounts) {
        job_plan_wake(&plan->job, watcher->placed_ms + WAITING_MOUNT_MS);
    }
}

/* Somebody changes the spec all the time: the pod of before goes on for a while. */
static bool rests(struct batchscore_plan *plan, const struct pod_phase *watcher) {
    int64_t due_ms = watcher->born_ms + WATCHER_LEAST_MS;
    bool is_young = watcher->attempt > AT_ONCE && pod_phase_is_alive(watcher) &&
                    watcher->born_ms <= plan->job.now_ms && plan->job.now_ms < due_ms;
    if (is_young) {
        job_plan_wake(&plan->job, due_ms);
    }
    return is_young;
}

static bool is_current(const struct batchscore_plan *plan, const struct pod_phase *watcher) {
    const char *made_of = owned_annotation(watcher->pod, ANNOTATION_WATCH);
    return made_of && strcmp(made_of, plan->spec.job.hash) == 0;
}

/* One pod waits for run `number`. Pods of other numbers, or of another spec, are deleted. */
static const struct pod_phase *find_watcher(struct batchscore_plan *plan, int64_t number,
                                            int *ret_attempts) {
    const struct pod_phase *newest = NULL;
    for (size_t i = 0; i < plan->job.phase_count; i++) {
        const struct pod_phase *phase = &plan->job.phases[i];
        bool is_ours = phase->index == number;
        *ret_attempts = is_ours ? MAX(*ret_attempts, phase->attempt) : *ret_attempts;
        if (is_ours && (is_current(plan, phase) || rests(plan, phase)) &&
            (!newest || phase->attempt > newest->attempt)) {
            newest = phase;
        }
    }
    for (size_t i = 0; i < plan->job.phase_count; i++) {
        if (&plan->job.phases[i] != newest && plan->job.phases[i].stage != POD_PHASE_LEAVING) {
            job_plan_remove_pod(&plan->job, &plan->job.phases[i]);
        }
    }
    return newest;
}

static void plan_watch(struct series *series) {
    struct batchscore_plan *plan = series->plan;
    int64_t number = series_number(series->lines) + 1;
    int attempts = 0;
    const struct pod_phase *watcher = find_watcher(plan, number, &attempts);
    series->is_outdated = watcher && !is_current(plan, watcher);
    report_armed(series);
    if (!watcher) {
        make_watcher(series, number, attempts + 1, 0);
        plan->job.conditions.pods_requested = false;
        return;
    }
    switch (watcher->stage) {
    case POD_PHASE_WAITING:
        report_waiting(series, watcher);
        return;
    case POD_PHASE_RUNNING:
        return;
    case POD_PHASE_LEAVING:
        if (watcher->gone_ms > 0) {
            job_plan_wake(&plan->job, watcher->gone_ms + JOB_PLAN_LOST_MS);
        }
        return;
    case POD_PHASE_SUCCEEDED:
        if (take_words(series, watcher)) {
            return;
        }
        break;
    case POD_PHASE_DEAD:
    default:
        break;
    }
    watcher_ended(series, watcher, number);
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* Applies mutable fields of the series to the current run. */
static void follow(const struct series *series) {
    json_t *changes = is_leaving(series->current)
                          ? NULL
                          : series_changes(series->plan->job.observed->object, series->current);
    if (changes) {
        json_array_append_new(series->plan->job.result.apply, changes);
    }
}

/* Sends one event for each run that has ended. */
static void report_ends(const struct series *series) {
    const json_t *before = tree_get(series->plan->job.observed->object, "status.runs");
    for (size_t i = 0; i < json_array_size(series->lines); i++) {
        const json_t *line = json_array_get(series->lines, i);
        const json_t *old = tree_find(before, "name", tree_text(line, "name", "?"));
        if (!old || json_object_get(old, "seconds") || !json_object_get(line, "seconds")) {
            continue;
        }
        bool is_well = strcmp(tree_text(line, "state", ""), "Completed") == 0;
        job_plan_report(&series->plan->job, is_well ? "Normal" : "Warning",
                        is_well ? "RunCompleted" : "RunFailed", "run %s: %s%s%.300s",
                        tree_text(line, "name", ""), tree_text(line, "state", ""),
                        json_object_get(line, "message") ? ": " : "",
                        tree_text(line, "message", ""));
    }
}

void series_decide(struct batchscore_plan *plan) {
    const json_t *object = plan->job.observed->object;
    struct series series = {.plan = plan, .lines = series_lines(object, plan->runs)};
    plan->job.conditions.runs = series.lines;
    read_runs(&series);
    report_ends(&series);
    drop_old(&series);
    if (series.current) {
        AUTO(text_freep)
        char *text =
            x_printf("run %s is under way", tree_text(series.current, "metadata.name", ""));
        set_reason(plan, "Running", text);
        follow(&series);
    }
    if (tree_bool(object, "spec.suspend", false)) {
        drop_watchers(plan);
        plan->job.conditions.suspended = true;
        conditions_set(&plan->job.conditions, CONDITIONS_UNDER_WAY, "Suspended", "%s",
                       series.current
                           ? "its run is suspended, too; both go on when spec.suspend is "
                             "false"
                           : "no run starts until spec.suspend is false");
    } else if (json_object_get(json_object_get(object, "spec"), "schedule")) {
        drop_watchers(plan);
        plan_schedule(&series);
    } else if (series.current) {
        drop_watchers(plan);
    } else {
        plan_watch(&series);
    }
}
