// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/objective.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JSON_MAX = 16 << 10, NUMBER_MAX = 32 };

static const double number_max = 1e300; /* so that no sum of two of them is none */

static void begin(struct objective *objective) {
    objective->reports = objective->numbers = 0;
    objective->step = -1;
    objective->last = objective->best = objective->mean = (double)NAN;
    objective->curve.count = 0;
}

void objective_init(struct objective *objective, const struct objective_options *options) {
    *objective = (struct objective){.options = *options};
    objective->options.interval = MAX(options->interval, 1);
    begin(objective);
}

void objective_release(struct objective *objective) {
    curve_release(&objective->curve);
}

/* ---- reports -------------------------------------------------------------------------------- */

/* A round of a gang that has started again begins with that step. */
static void go_back(struct objective *objective, int64_t step) {
    struct curve *curve = &objective->curve;
    if (objective->reports == 0 || (step >= 0 && objective->step >= 0 && step > objective->step)) {
        return;
    }
    while (curve->count > 0) {
        const struct curve_point *point = &curve->at[curve->count - 1];
        if (step >= 0 && point->step >= 0 && point->step < step) {
            objective->reports = point->reports;
            objective->numbers = isnan(point->best) ? 0 : point->reports;
            objective->step = point->step;
            objective->best = point->best;
            objective->mean = point->mean;
            return;
        }
        curve->count--;
    }
    begin(objective);
}

static void add_number(struct objective *objective, double value) {
    bool is_better =
        objective->options.is_minimized ? value < objective->best : value > objective->best;
    objective->numbers++;
    if (objective->numbers == 1) {
        objective->best = objective->mean = value;
        return;
    }
    objective->best = is_better ? value : objective->best;
    objective->mean += (value - objective->mean) / (double)objective->numbers;
}

static void note_other(struct objective *objective, const char *name) {
    objective->other_reports++;
    for (size_t i = 0; i < objective->other_count; i++) {
        if (strcmp(objective->others[i], name) == 0) {
            return;
        }
    }
    if (objective->other_count < OBJECTIVE_OTHERS_MAX) {
        snprintf(objective->others[objective->other_count++], METRIC_NAME_MAX + 1, "%s", name);
    }
}

void objective_add(struct objective *objective, int64_t round, const struct metric *metric) {
    const struct objective_options *options = &objective->options;
    if (!options->name[0]) {
        return;
    }
    if (strcmp(metric->name, options->name) != 0) {
        note_other(objective, metric->name);
        return;
    }
    if (round != objective->round) {
        objective->round = round;
        go_back(objective, metric->step);
    }
    objective->reports++;
    objective->step = metric->step;
    objective->last = metric->value;
    if (isfinite(metric->value) && fabs(metric->value) <= number_max) {
        add_number(objective, metric->value);
    }
    if (curve_is_due(objective->reports, options->interval, options->delay)) {
        struct curve_point point = {objective->reports, objective->best, objective->mean,
                                    objective->step};
        curve_add(&objective->curve, &point);
    }
}

void objective_read(struct objective *objective, int64_t round, const char *lines) {
    for (const char *at = lines; at && *at;) {
        size_t size = strcspn(at, "\n");
        AUTO(text_freep) char *line = x_strndup(at, size);
        struct metric metric;
        if (metric_read(line, &metric)) {
            objective_add(objective, round, &metric);
        }
        at += size + (at[size] == '\n');
    }
}

/* ---- what is told --------------------------------------------------------------------------- */

static void set_number(json_t *told, const char *name, double value) {
    char text[NUMBER_MAX];
    snprintf(text, sizeof text, "%.15g", value);
    json_object_set_new(told, name, json_string(isnan(value) ? "nan" : text));
}

static json_t *tell_others(const struct objective *objective) {
    json_t *others = json_array();
    for (size_t i = 0; i < objective->other_count; i++) {
        json_array_append_new(others, json_string(objective->others[i]));
    }
    return json_pack("{s:i, s:o, s:I}", "reports", 0, "others", others, "otherReports",
                     (json_int_t)objective->other_reports);
}

void objective_tell(const struct objective *objective, json_t *progress) {
    char at[CURVE_TEXT_MAX];
    if (objective->reports == 0) {
        if (objective->other_reports > 0) {
            json_object_set_new(progress, "objective", tell_others(objective));
        }
        return;
    }
    json_t *told = json_pack("{s:I}", "reports", (json_int_t)objective->reports);
    if (objective->step >= 0) {
        json_object_set_new(told, "step", json_integer(objective->step));
    }
    set_number(told, "last", objective->last);
    if (objective->numbers > 0) {
        set_number(told, "best", objective->best);
        set_number(told, "mean", objective->mean);
    }
    curve_write(&objective->curve, at);
    json_object_set_new(told, "at", json_string(at));
    json_object_set_new(progress, "objective", told);
}

/* ---- what a hub before it has told ---------------------------------------------------------- */

/* NAN: there is none, or it is no number. */
static double number_of(const json_t *told, const char *name) {
    const char *text = tree_text(told, name, "");
    char *end = NULL;
    double number = strtod(text, &end);
    bool is_one = end != text && !*end && isfinite(number) && fabs(number) <= number_max;
    return is_one ? number : (double)NAN;
}

static void recall_others(struct objective *objective, const json_t *told) {
    const json_t *others = json_object_get(told, "others");
    for (size_t i = 0; i < json_array_size(others); i++) {
        const char *name = json_string_value(json_array_get(others, i));
        if (name && metric_is_name(name)) {
            note_other(objective, name);
        }
    }
    int64_t reports = tree_integer(told, "otherReports", 0);
    objective->other_reports = MAX(objective->other_reports, MIN(reports, INT64_MAX / 2));
}

bool objective_recall(struct objective *objective, const char *json) {
    struct error ignored = {0};
    AUTO(tree_freep) json_t *told = NULL;
    if (tree_parse(json, strlen(json), JSON_MAX, &told, &ignored) < 0 || !json_is_object(told)) {
        return false;
    }
    int64_t reports = tree_integer(told, "reports", -1), step = tree_integer(told, "step", -1);
    AUTO(curve_release) struct curve curve = curve_read(tree_text(told, "at", ""));
    if (reports < curve_reached(&curve) || reports > INT64_MAX / 2 || step < -1) {
        return false;
    }
    recall_others(objective, told);
    double best = number_of(told, "best"), mean = number_of(told, "mean");
    bool has_both = !isnan(best) && !isnan(mean);
    objective->reports = reports;
    objective->numbers = has_both ? reports : 0;
    objective->step = step;
    objective->last = number_of(told, "last");
    objective->best = has_both ? best : (double)NAN;
    objective->mean = has_both ? mean : (double)NAN;
    curve_release(&objective->curve);
    objective->curve = curve;
    curve = (struct curve){0};
    return true;
}
