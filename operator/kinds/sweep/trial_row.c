// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/trial_row.h"

#include "lib/time/clock.h"
#include "operator/kinds/job/conditions.h"
#include "operator/kinds/sweep/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_SHOWN = 200 };

static double read_number(const json_t *trial, const char *path) {
    const char *text = tree_text(trial, path, NULL);
    char *end;
    double value = text ? strtod(text, &end) : NAN;
    return text && end != text && !*end && isfinite(value) ? value : NAN;
}

/* A misspelled metric name must be reported: users of other systems lost days by it. */
static char *missing(const json_t *trial, const char *metric) {
    const json_t *objective = tree_get(trial, "status.objective");
    const json_t *others = json_object_get(objective, "others");
    long long reports = (long long)tree_integer(objective, "reports", 0);
    if (reports > 0) {
        return x_printf("none of its %lld reports of %s was a number", reports, metric);
    }
    char names[NAMES_SHOWN] = "";
    size_t used = 0;
    for (size_t i = 0; i < json_array_size(others); i++) {
        int length = snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                              json_string_value(json_array_get(others, i)) ?: "?");
        used = MIN(used + (size_t)MAX(length, 0), sizeof names - 1);
    }
    return json_array_size(others) > 0
               ? x_printf("no metric %s after %lld reports; there are: %s (objective.metric names "
                          "it, trial.metrics.pattern finds it)",
                          metric, (long long)tree_integer(objective, "otherReports", 0), names)
               : x_printf(
                     "no metric %s, nor any other: no line of its output, no file and no "
                     "windlass-agent metric reported one (trial.metrics.pattern says which lines "
                     "are metrics)",
                     metric);
}

/* The ends of a trial's own program and settings, which another start would meet again; a search
 * learns from them. Not those of the cluster, such as a refused object: evictions, lost nodes and
 * pods that were deleted fail no DistTrain, they restart it. */
static bool is_own_reason(const char *reason) {
    static const char *const reasons[] = {"RankFailed",      "OutOfMemory",      "Hung",
                                          "CommandNotFound", "PrepareFailed",    "InputInvalid",
                                          "SpecInvalid",     "DeadlineExceeded", "BadData"};
    size_t i = 0;
    while (i < ARRAY_LEN(reasons) && strcmp(reason, reasons[i]) != 0) {
        i++;
    }
    return i < ARRAY_LEN(reasons);
}

/* The beginning of the failure's text with "#" for its numbers and "@" for the trial's own name,
 * which differ among trials that failed alike: the reason, the exit code, which is kept, and the
 * last line that the program printed. */
static void write_alike(struct trial_row *row) {
    static const char code[] = "exit code ";
    size_t used = 0, name = strlen(row->name);
    const char *at = row->failure, *after_code = NULL;
    while (*at && used < sizeof row->alike - 1) {
        bool is_number = *at >= '0' && *at <= '9';
        size_t size = is_number ? strspn(at, "0123456789.eE+-") : 1;
        bool is_name = name > 0 && strncmp(at, row->name, name) == 0;
        row->alike[used++] = is_name ? '@' : is_number && at != after_code ? '#' : *at;
        size = is_name ? name : at == after_code ? 1 : size;
        at += size;
        bool is_code = (size_t)(at - row->failure) >= strlen(code) &&
                       strncmp(at - strlen(code), code, strlen(code)) == 0;
        after_code =
            is_code || (after_code && after_code + 1 == at && *at >= '0' && *at <= '9') ? at : NULL;
    }
    row->alike[used] = 0;
}

static void read_end(const json_t *trial, const char *metric, struct trial_row *row) {
    const json_t *condition = conditions_find(trial, "Succeeded");
    const char *reason = tree_text(condition, "reason", "");
    row->end_ms = MAX(clock_parse(tree_text(trial, "status.completionTime", "")), 0);
    if (strcmp(tree_text(condition, "status", ""), "True") == 0) {
        row->is_silent = isnan(row->best);
        row->state = row->is_silent ? TRIAL_FAILED : TRIAL_COMPLETED;
        row->failure = row->is_silent ? missing(trial, metric) : NULL;
        row->is_own_failure = row->is_silent;
    } else if (strcmp(reason, "Stopped") == 0) {
        row->state = TRIAL_STOPPED;
        free(row->stop); /* the spec of a finished trial is not kept */
        row->stop = x_strdup(tree_text(condition, "message", ""));
    } else {
        row->state = TRIAL_FAILED;
        row->is_own_failure = is_own_reason(reason);
        row->failure = x_printf("%s: %s", reason, tree_text(condition, "message", ""));
    }
    if (row->is_own_failure) {
        write_alike(row);
    }
}

bool trial_row_read(const json_t *trial, const struct space *space, const char *metric,
                    struct trial_row *ret_row) {
    struct trial_row row = {0};
    if (!trial_read(trial, space, &row.index, &row.values)) {
        return false;
    }
    const char *stop = tree_text(trial, "spec.stop", NULL);
    row.name = x_strdup(tree_text(trial, "metadata.name", ""));
    row.uid = x_strdup(tree_text(trial, "metadata.uid", ""));
    row.trained = json_incref(tree_get(trial, "status.trained"));
    row.bad = json_incref(tree_get(trial, "status.badSamples"));
    row.losses = json_incref(tree_get(trial, "status.losses"));
    row.stop = stop ? x_strdup(stop) : NULL;
    row.is_suspended = tree_bool(trial, "spec.suspend", false);
    row.is_placed = space_units(space, row.values, row.units);
    row.curve = curve_read(tree_text(trial, "status.objective.at", ""));
    row.best = read_number(trial, "status.objective.best");
    row.last = read_number(trial, "status.objective.last");
    row.also = json_incref(tree_get(trial, "status.objective.also"));
    const json_t *waiting = conditions_find(trial, "Waiting");
    snprintf(row.result_sha256, sizeof row.result_sha256, "%s",
             tree_text(trial, "status.proof.resultSHA256", ""));
    const char *about = tree_text(trial, "status.proof.resultMessage", NULL);
    row.result_message = about ? x_strdup(about) : NULL;
    if (conditions_is_finished(trial)) {
        read_end(trial, metric, &row);
    } else if (strcmp(tree_text(waiting, "status", ""), "True") == 0) {
        row.waits = x_strdup(tree_text(waiting, "reason", ""));
        row.waits_for = x_strdup(tree_text(waiting, "message", ""));
    }
    *ret_row = row;
    return true;
}

void trial_row_release(struct trial_row *row) {
    free(row->name);
    free(row->uid);
    free(row->stop);
    free(row->failure);
    free(row->waits);
    free(row->waits_for);
    free(row->result_message);
    json_decref(row->values);
    json_decref(row->trained);
    json_decref(row->bad);
    json_decref(row->losses);
    json_decref(row->also);
    curve_release(&row->curve);
    *row = (struct trial_row){0};
}
