// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/show/sweep_facts.h"

#include "operator/kinds/sweep/spec.h"
#include "operator/kinds/sweep/trial.h"
#include "operator/kinds/sweep/trial_row.h"
#include "operator/object.h"
#include "operator/show/progress_line.h"

#include <stdlib.h>
#include <string.h>

/* The owner of a trial's data. */
struct source {
    struct trial_row row;
    const char **values;
    char *message;
    int64_t reports;
};

_Static_assert((int)SWEEP_ALSO_MAX == (int)FRONT_ALSO_MAX, "room for each objective");

struct sweep_view {
    struct sweep_spec spec;
    struct sweep_facts facts;
    const char *parameters[SPACE_PARAMETERS_MAX];
    bool is_logarithmic[SPACE_PARAMETERS_MAX];
    struct source *sources; /* by ascending index */
    size_t count;
    struct sweep_trial *trials; /* one for each source */
    const struct sweep_trial *failed;
};

static int compare_sources(const void *one, const void *other) {
    int64_t a = ((const struct source *)one)->row.index;
    int64_t b = ((const struct source *)other)->row.index;
    return (a > b) - (a < b);
}

/* Why a trial ended without completing; the caller frees it. */
static char *message_of(const json_t *trial, const struct trial_row *row) {
    const json_t *condition = object_succeeded(json_object_get(trial, "status"));
    const char *text = row->state == TRIAL_FAILED    ? row->failure
                       : row->state == TRIAL_STOPPED ? tree_text(condition, "message", NULL)
                                                     : NULL;
    return text ? x_strdup(text) : NULL;
}

static void add_source(struct sweep_view *view, const json_t *trial) {
    struct source source = {0};
    if (!trial_row_read(trial, &view->spec.space, view->spec.metric, &source.row)) {
        return;
    }
    if (!trial_is_named(view->spec.name, source.row.index, source.row.name)) {
        trial_row_release(&source.row);
        return;
    }
    size_t parameters = (size_t)view->spec.space.count;
    source.reports = tree_integer(trial, "status.objective.reports", 0);
    source.message = message_of(trial, &source.row);
    source.values = x_calloc(parameters, sizeof *source.values);
    for (size_t i = 0; i < parameters; i++) {
        const json_t *value = json_object_get(source.row.values, view->parameters[i]);
        source.values[i] = json_string_value(value) ?: "";
    }
    view->sources[view->count++] = source;
}

/* The last values of the further objectives. */
static void read_also(const struct sweep_spec *spec, const struct trial_row *row,
                      double also[static SWEEP_ALSO_MAX]) {
    for (size_t i = 0; i < spec->also_count; i++) {
        also[i] = front_value(row, spec->also[i].metric);
    }
}

static void fill_trials(struct sweep_view *view) {
    static const enum sweep_trial_state states[] = {
        [TRIAL_RUNNING] = SWEEP_RUNNING,
        [TRIAL_COMPLETED] = SWEEP_COMPLETED,
        [TRIAL_STOPPED] = SWEEP_STOPPED,
        [TRIAL_FAILED] = SWEEP_FAILED,
    };
    int64_t last_ms = -1;
    view->trials = x_calloc(view->count + 1, sizeof *view->trials);
    for (size_t i = 0; i < view->count; i++) {
        const struct source *source = &view->sources[i];
        view->trials[i] = (struct sweep_trial){.index = source->row.index,
                                               .name = source->row.name,
                                               .state = states[source->row.state],
                                               .curve = source->row.curve,
                                               .reports = source->reports,
                                               .best = source->row.best,
                                               .values = source->values,
                                               .message = source->message};
        read_also(&view->spec, &source->row, view->trials[i].also);
        if (source->row.state == TRIAL_FAILED && source->row.end_ms >= last_ms) {
            last_ms = source->row.end_ms;
            view->failed = &view->trials[i];
        }
    }
}

static bool is_logarithmic(enum expression expression) {
    return expression == EXPRESSION_LOGUNIFORM || expression == EXPRESSION_QLOGUNIFORM ||
           expression == EXPRESSION_LOGNORMAL || expression == EXPRESSION_QLOGNORMAL;
}

int sweep_view_new(const json_t *sweep, const json_t *trials, struct sweep_view **ret_view,
                   struct error *err) {
    AUTO(sweep_view_freep) struct sweep_view *view = x_calloc(1, sizeof *view);
    if (sweep_spec_read(sweep, &view->spec, err) < 0) {
        return -1;
    }
    for (int i = 0; i < view->spec.space.count; i++) {
        view->parameters[i] = view->spec.space.at[i].name;
        view->is_logarithmic[i] = is_logarithmic(view->spec.space.at[i].expression);
    }
    view->sources = x_calloc(json_array_size(trials) + 1, sizeof *view->sources);
    for (size_t i = 0; i < json_array_size(trials); i++) {
        add_source(view, json_array_get(trials, i));
    }
    qsort(view->sources, view->count, sizeof *view->sources, compare_sources);
    fill_trials(view);
    const json_t *status = json_object_get(sweep, "status");
    view->facts = (struct sweep_facts){
        .name = view->spec.name,
        .state = object_state(status),
        .message = tree_text(object_succeeded(status), "message", ""),
        .metric = view->spec.metric,
        .front = json_object_get(status, "front"),
        .is_minimized = view->spec.goal == GOAL_MINIMIZE,
        .parameters = view->parameters,
        .is_logarithmic = view->is_logarithmic,
        .parameter_count = (size_t)view->spec.space.count,
        .trials = view->trials,
        .trial_count = view->count,
    };
    view->facts.also_count = view->spec.also_count;
    for (size_t i = 0; i < view->spec.also_count; i++) {
        view->facts.also[i] = (struct sweep_also){view->spec.also[i].metric,
                                                  view->spec.also[i].goal == GOAL_MINIMIZE};
    }
    *ret_view = TAKE(view);
    return 0;
}

void sweep_view_free(struct sweep_view *view) {
    for (size_t i = 0; view && i < view->count; i++) {
        trial_row_release(&view->sources[i].row);
        free(view->sources[i].values);
        free(view->sources[i].message);
    }
    if (view) {
        free(view->sources);
        free(view->trials);
    }
    free(view);
}

void sweep_view_freep(struct sweep_view **view) {
    sweep_view_free(*view);
}

const struct sweep_facts *sweep_view_facts(const struct sweep_view *view) {
    return &view->facts;
}

const struct sweep_trial *sweep_view_failed(const struct sweep_view *view) {
    return view->failed;
}
