// SPDX-License-Identifier: Apache-2.0
/* The table of trials for a terminal. */
#include "operator/kinds/sweep/show/sweep_charts.h"
#include "operator/show/text_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const state_names[] = {"Running", "Completed", "Stopped", "Failed"};
_Static_assert(ARRAY_LEN(state_names) == SWEEP_STATES, "a name for each state");

enum { TERMINAL_DIGITS = 4 }; /* so that a line has room for more values */

/* "######......": the number of reports relative to the largest. */
static void draw_bar(int64_t reports, int64_t most, char bar[static SWEEP_BAR + 1]) {
    int64_t full = most > 0 ? (int64_t)((double)reports / (double)most * SWEEP_BAR + 0.5) : 0;
    full = MIN(MAX(full, reports > 0), SWEEP_BAR);
    memset(bar, '.', SWEEP_BAR);
    memset(bar, '#', (size_t)full);
    bar[SWEEP_BAR] = 0;
}

/* "RATE=0.1 OPTIMIZER=Adam"; the caller frees. */
static char *join_values(const struct sweep_facts *facts, const struct sweep_trial *trial,
                         int digits) {
    char *all = x_strdup("");
    for (size_t i = 0; trial->values && i < facts->parameter_count; i++) {
        char text[SWEEP_SHORT_MAX];
        char *longer = x_printf("%s%s%s=%s", all, i ? " " : "", facts->parameters[i],
                                sweep_short(trial->values[i], digits, text));
        free(all);
        all = longer;
    }
    return all;
}

char *sweep_table(const struct sweep_facts *facts, int width) {
    const struct sweep_trial *best = sweep_best(facts);
    struct text_table *table = text_table_new();
    const char *const head[] = {"", "TRIAL", "STATE", "REPORTS", "", facts->metric, "VALUES"};
    int64_t most = 0;
    text_table_add(table, head, ARRAY_LEN(head));
    for (size_t i = 0; i < facts->trial_count; i++) {
        most = MAX(most, facts->trials[i].reports);
    }
    for (size_t i = 0; i < facts->trial_count; i++) {
        const struct sweep_trial *trial = &facts->trials[i];
        AUTO(text_freep)
        char *values = join_values(facts, trial, width > 0 ? TERMINAL_DIGITS : SWEEP_DIGITS);
        char bar[SWEEP_BAR + 1], reports[24], value[32] = "-";
        draw_bar(trial->reports, most, bar);
        snprintf(reports, sizeof reports, "%lld", (long long)trial->reports);
        if (isfinite(trial->best)) {
            snprintf(value, sizeof value, "%.6g", trial->best);
        }
        const char *const cells[] = {trial == best ? "*" : "",
                                     trial->name,
                                     state_names[trial->state],
                                     bar,
                                     reports,
                                     value,
                                     values};
        text_table_add(table, cells, ARRAY_LEN(cells));
    }
    char *text = text_table_format(table, "", width);
    text_table_free(table);
    return text;
}
