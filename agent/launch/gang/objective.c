// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/gang/objective.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    JSON_MAX = 16 << 10,
    NUMBER_MAX = 32,
    TAIL_MAX = 24,
    TEXTS_MAX = 3600 /* maximum of curve and tail, bytes: a termination message has 4,096
                        (gang_progress.h) */
};

static const double number_max = 1e300; /* so that the sum of two is finite */

static void begin(struct objective *objective) {
    objective->reports = objective->numbers = 0;
    objective->step = -1;
    objective->last = objective->best = objective->mean = (double)NAN;
    objective->curve.count = 0;
    objective->recent_count = 0;
}

void objective_init(struct objective *objective, const struct objective_options *options) {
    *objective = (struct objective){.options = *options};
    objective->options.interval = MAX(options->interval, 1);
    for (size_t i = 0; i < OBJECTIVE_ALSO_MAX; i++) {
        objective->also[i] = NAN;
    }
    begin(objective);
}

void objective_release(struct objective *objective) {
    curve_release(&objective->curve);
    free(TAKE(objective->recent));
}

/* ---- recent reports ------------------------------------------------------------------------- */

static struct objective_state *recent_at(const struct objective *objective, int64_t report) {
    return &objective->recent[report % OBJECTIVE_RECENT_MAX];
}

static struct objective_state state_of(const struct objective *objective) {
    return (struct objective_state){objective->numbers, objective->step, objective->best,
                                    objective->mean};
}

static struct objective_state state_at(const struct curve_point *point, int64_t numbers) {
    return (struct objective_state){numbers, point->step, point->best, point->mean};
}

static void go_to(struct objective *objective, int64_t report,
                  const struct objective_state *state) {
    objective->reports = report;
    objective->numbers = state->numbers;
    objective->step = state->step;
    objective->best = state->best;
    objective->mean = state->mean;
}

/* Adds the point after the last one, or as the first. */
static void note(struct objective *objective, int64_t report, const struct objective_state *state) {
    if (!objective->recent) {
        objective->recent = x_calloc(OBJECTIVE_RECENT_MAX, sizeof *objective->recent);
    }
    *recent_at(objective, report) = *state;
    objective->recent_count = MIN(objective->recent_count + 1, OBJECTIVE_RECENT_MAX);
}

/* ---- reports -------------------------------------------------------------------------------- */

static bool is_before(int64_t step, int64_t next) {
    return step >= 0 && step < next;
}

/* Goes back to the last recent report before that step. False: no recent report is before it. */
static bool go_back_by_recent(struct objective *objective, int64_t step) {
    struct curve *curve = &objective->curve;
    int64_t report = objective->reports;
    while (objective->recent_count > 0 && !is_before(recent_at(objective, report)->step, step)) {
        objective->recent_count--;
        report--;
    }
    if (objective->recent_count == 0) {
        return false;
    }
    go_to(objective, report, recent_at(objective, report));
    while (curve_reached(curve) > report) {
        curve->count--;
    }
    return true;
}

/* The round after a restart begins with that step. */
static void go_back(struct objective *objective, int64_t step) {
    struct curve *curve = &objective->curve;
    bool is_new = step >= 0 && objective->step >= 0 && step > objective->step;
    if (objective->reports == 0 || is_new || go_back_by_recent(objective, step)) {
        return;
    }
    while (curve->count > 0 && !is_before(curve->at[curve->count - 1].step, step)) {
        curve->count--;
    }
    if (curve->count == 0) {
        begin(objective);
        return;
    }
    const struct curve_point *point = &curve->at[curve->count - 1];
    struct objective_state state = state_at(point, objective->numbers_at[curve->count - 1]);
    go_to(objective, point->reports, &state);
    note(objective, point->reports, &state);
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

/* Rank 0 may report one of them at any time: only the last counts. */
static void note_also(struct objective *objective, const struct metric *metric) {
    for (size_t i = 0; i < OBJECTIVE_ALSO_MAX; i++) {
        bool is_it = strcmp(objective->options.also[i], metric->name) == 0;
        if (is_it && isfinite(metric->value) && fabs(metric->value) <= number_max) {
            objective->also[i] = metric->value;
        }
    }
}

/* Names that begin with "windlass." are ours: no program has misspelt its metric that way. */
static void note_other(struct objective *objective, const char *name) {
    if (text_starts(name, "windlass.")) {
        return;
    }
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
        note_also(objective, metric);
        return;
    }
    if (round < objective->round) {
        return; /* from a pod that was disconnected meanwhile */
    }
    if (round > objective->round) {
        objective->round = round;
        go_back(objective, metric->step);
    }
    objective->reports++;
    objective->step = metric->step;
    objective->last = metric->value;
    if (isfinite(metric->value) && fabs(metric->value) <= number_max) {
        add_number(objective, metric->value);
    }
    struct objective_state state = state_of(objective);
    note(objective, objective->reports, &state);
    if (objective->curve.count < CURVE_POINTS_MAX &&
        curve_is_due(objective->reports, options->interval, options->delay)) {
        struct curve_point point = {objective->reports, state.best, state.mean, state.step};
        objective->numbers_at[objective->curve.count] = state.numbers;
        curve_add(&objective->curve, &point);
    }
}

void objective_read(struct objective *objective, int64_t round, const char *lines) {
    struct metric metric;
    while (metric_next(&lines, &metric)) {
        objective_add(objective, round, &metric);
    }
}

/* ---- as JSON -------------------------------------------------------------------------------- */

static void set_number(json_t *tree, const char *name, double value) {
    char text[NUMBER_MAX];
    snprintf(text, sizeof text, "%.15g", value);
    json_object_set_new(tree, name, json_string(isnan(value) ? "nan" : text));
}

static json_t *others_json(const struct objective *objective) {
    json_t *others = json_array();
    for (size_t i = 0; i < objective->other_count; i++) {
        json_array_append_new(others, json_string(objective->others[i]));
    }
    return json_pack("{s:i, s:o, s:I}", "reports", 0, "others", others, "otherReports",
                     (json_int_t)objective->other_reports);
}

/* Writes the recent reports, to which the next hub's first round may go back; as many as there is
 * room for. */
static void add_tail(const struct objective *objective, size_t at_size, json_t *tree) {
    char text[CURVE_TEXT_MAX];
    int64_t known = objective->reports - objective->recent_count;
    int64_t first = MAX(known, curve_reached(&objective->curve)) + 1;
    for (int64_t count = MIN(objective->reports - first, TAIL_MAX); count > 0; count /= 2) {
        AUTO(curve_release) struct curve tail = {0};
        for (int64_t k = objective->reports - count; k < objective->reports; k++) {
            const struct objective_state *state = recent_at(objective, k);
            curve_add(&tail, &(struct curve_point){k, state->best, state->mean, state->step});
        }
        curve_write(&tail, text);
        if (at_size + strlen(text) <= TEXTS_MAX) {
            json_object_set_new(tree, "tail", json_string(text));
            return;
        }
    }
}

static void add_also(const struct objective *objective, json_t *tree) {
    json_t *also = json_object();
    for (size_t i = 0; i < OBJECTIVE_ALSO_MAX; i++) {
        if (objective->options.also[i][0] && !isnan(objective->also[i])) {
            set_number(also, objective->options.also[i], objective->also[i]);
        }
    }
    if (json_object_size(also) > 0) {
        json_object_set(tree, "also", also);
    }
    json_decref(also);
}

void objective_add_json(const struct objective *objective, json_t *progress) {
    char at[CURVE_TEXT_MAX];
    if (objective->reports == 0) {
        if (objective->other_reports > 0) {
            json_object_set_new(progress, "objective", others_json(objective));
            add_also(objective, json_object_get(progress, "objective"));
        }
        return;
    }
    json_t *tree = json_pack("{s:I}", "reports", (json_int_t)objective->reports);
    if (objective->step >= 0) {
        json_object_set_new(tree, "step", json_integer(objective->step));
    }
    set_number(tree, "last", objective->last);
    if (objective->numbers > 0) {
        set_number(tree, "best", objective->best);
        set_number(tree, "mean", objective->mean);
        if (objective->numbers < objective->reports) {
            json_object_set_new(tree, "numbers", json_integer(objective->numbers));
        }
    }
    curve_write(&objective->curve, at);
    json_object_set_new(tree, "at", json_string(at));
    add_also(objective, tree);
    add_tail(objective, strlen(at), tree);
    json_object_set_new(progress, "objective", tree);
}

/* ---- state of an earlier hub ---------------------------------------------------------------- */

/* NAN: missing, or not a number. */
static double number_of(const json_t *tree, const char *name) {
    const char *text = json_string_value(json_object_get(tree, name)) ?: "";
    char *end = NULL;
    double number = strtod(text, &end);
    bool is_one = end != text && !*end && isfinite(number) && fabs(number) <= number_max;
    return is_one ? number : (double)NAN;
}

static void restore_others(struct objective *objective, const json_t *tree) {
    const json_t *others = json_object_get(tree, "others");
    for (size_t i = 0; i < json_array_size(others); i++) {
        const char *name = json_string_value(json_array_get(others, i));
        if (name && metric_is_name(name)) {
            note_other(objective, name);
        }
    }
    int64_t reports = tree_integer(tree, "otherReports", 0);
    objective->other_reports = MAX(objective->other_reports, MIN(reports, INT64_MAX / 2));
}

/* The text does not have the count of numbers at a point; reports that are not numbers are assumed
 * to come first. */
static int64_t guess_numbers(const struct objective *objective, const struct curve_point *point) {
    int64_t others = objective->reports - objective->numbers;
    return isnan(point->best) ? 0 : MAX(point->reports - others, 1);
}

/* Call it when the numbers and the curve are restored. */
static void restore_recent(struct objective *objective, const char *text) {
    AUTO(curve_release) struct curve tail = curve_read(text);
    struct objective_state state = state_of(objective);
    bool is_whole = tail.count > 0 && curve_reached(&tail) == objective->reports - 1 &&
                    tail.at[0].reports == objective->reports - tail.count;
    for (int i = 0; i < objective->curve.count; i++) {
        objective->numbers_at[i] = guess_numbers(objective, &objective->curve.at[i]);
    }
    objective->recent_count = 0;
    for (int i = 0; is_whole && i < tail.count; i++) {
        struct objective_state earlier =
            state_at(&tail.at[i], guess_numbers(objective, &tail.at[i]));
        note(objective, tail.at[i].reports, &earlier);
    }
    if (objective->reports > 0) {
        note(objective, objective->reports, &state);
    }
}

bool objective_restore(struct objective *objective, const char *json) {
    struct error ignored = {0};
    AUTO(tree_freep) json_t *tree = NULL;
    if (tree_parse(json, strlen(json), JSON_MAX, &tree, &ignored) < 0 || !json_is_object(tree)) {
        return false;
    }
    int64_t reports = tree_integer(tree, "reports", -1), step = tree_integer(tree, "step", -1);
    AUTO(curve_release) struct curve curve = curve_read(tree_text(tree, "at", ""));
    if (reports < curve_reached(&curve) || reports > INT64_MAX / 2 || step < -1) {
        return false;
    }
    restore_others(objective, tree);
    for (size_t i = 0; i < OBJECTIVE_ALSO_MAX; i++) {
        const char *name = objective->options.also[i];
        objective->also[i] = *name ? number_of(json_object_get(tree, "also"), name) : (double)NAN;
    }
    double best = number_of(tree, "best"), mean = number_of(tree, "mean");
    bool has_both = !isnan(best) && !isnan(mean);
    int64_t numbers = tree_integer(tree, "numbers", reports);
    objective->reports = reports;
    objective->numbers = has_both ? MIN(MAX(numbers, 1), reports) : 0;
    objective->step = step;
    objective->last = number_of(tree, "last");
    objective->best = has_both ? best : (double)NAN;
    objective->mean = has_both ? mean : (double)NAN;
    curve_release(&objective->curve);
    objective->curve = curve;
    curve = (struct curve){0};
    restore_recent(objective, tree_text(tree, "tail", ""));
    return true;
}
