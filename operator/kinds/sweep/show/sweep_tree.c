// SPDX-License-Identifier: Apache-2.0
/* The trials of a Sweep as JSON, for pages that draw them themselves. */
#include "operator/kinds/sweep/show/sweep_charts.h"

#include "lib/text/shown.h"

#include <math.h>
#include <string.h>

enum { MESSAGE_MAX = 300 };

static json_t *shown(const char *text, size_t bytes_max) {
    const char *given = text ? text : "";
    AUTO(text_freep) char *safe = shown_text(given, strnlen(given, bytes_max));
    return json_string(safe);
}

static json_t *parameters_of(const struct sweep_facts *facts) {
    json_t *list = json_array();
    for (size_t i = 0; i < facts->parameter_count; i++) {
        bool is_logarithmic = facts->is_logarithmic && facts->is_logarithmic[i];
        json_array_append_new(list, json_pack("{s:o, s:b}", "name",
                                              shown(facts->parameters[i], SWEEP_NAME_MAX_BYTES),
                                              "isLogarithmic", is_logarithmic));
    }
    return list;
}

static json_t *trial_of(const struct sweep_facts *facts, const struct sweep_trial *trial,
                        bool is_best) {
    static const char *const states[] = {[SWEEP_RUNNING] = "running",
                                         [SWEEP_COMPLETED] = "completed",
                                         [SWEEP_STOPPED] = "stopped",
                                         [SWEEP_FAILED] = "failed"};
    json_t *values = json_array();
    for (size_t i = 0; i < facts->parameter_count; i++) {
        const char *value = trial->values ? trial->values[i] : "";
        json_array_append_new(values, shown(value, SWEEP_NAME_MAX_BYTES));
    }
    return json_pack("{s:I, s:o, s:s, s:o, s:o, s:b, s:o}", "index", (json_int_t)trial->index,
                     "name", shown(trial->name, SWEEP_NAME_MAX_BYTES), "state",
                     states[trial->state], "best",
                     isfinite(trial->best) ? json_real(trial->best) : json_null(), "values", values,
                     "isBest", is_best, "message", shown(trial->message, MESSAGE_MAX));
}

json_t *sweep_tree(const struct sweep_facts *facts) {
    const struct sweep_trial *best = sweep_best(facts);
    size_t count = facts->trial_count;
    size_t first = count > SWEEP_HTML_LINES_MAX ? count - SWEEP_HTML_LINES_MAX : 0;
    json_t *list = json_array();
    if (best && best < facts->trials + first) {
        json_array_append_new(list, trial_of(facts, best, /* is_best= */ true));
    }
    for (size_t i = first; i < count; i++) {
        const struct sweep_trial *trial = &facts->trials[i];
        json_array_append_new(list, trial_of(facts, trial, trial == best));
    }
    return json_pack("{s:o, s:b, s:o, s:o}", "metric", shown(facts->metric, SWEEP_NAME_MAX_BYTES),
                     "isMinimized", facts->is_minimized, "parameters", parameters_of(facts),
                     "trials", list);
}
