/* sweep_html.h: the presentation of a Sweep: sweep.html, a self-contained page (inline SVG, no
 * script), and the same as a table for a terminal. The input is plain data, which the kind fills
 * in; pure. */
#pragma once

#include "lib/error.h"
#include "lib/number/curve.h"
#include "lib/tree.h"

enum {
    SWEEP_HTML_MAX = 64 << 20,  /* bytes */
    SWEEP_HTML_LINES_MAX = 500, /* trials that are drawn: the best, then the newest */
    SWEEP_BAR = 12,             /* columns */
    SWEEP_ALSO_MAX = 3,         /* further objectives */
};

enum sweep_trial_state {
    SWEEP_RUNNING,
    SWEEP_COMPLETED,
    SWEEP_STOPPED,
    SWEEP_FAILED,
    SWEEP_STATES
};

/* All borrowed. */
struct sweep_trial {
    int64_t index;
    const char *name;
    enum sweep_trial_state state;
    struct curve curve;          /* as lib/number/curve.h reads it */
    int64_t reports;             /* all of them, not only those up to the last point */
    double best;                 /* NAN: it has reported no number */
    double also[SWEEP_ALSO_MAX]; /* of each further objective; NAN: no number */
    const char *const *values;   /* one for each parameter; NULL: unknown */
    const char *message;         /* why it was stopped or failed; NULL: none */
};

/* A further objective (spec.objective.also). */
struct sweep_also {
    const char *metric;
    bool is_minimized;
};

struct sweep_facts {
    const char *name, *state, *message; /* "Running", "12 of 40 trials ended" */
    const char *metric;
    bool is_minimized;
    const char *const *parameters;
    const bool
        *is_logarithmic; /* one for each parameter: it is chosen by its logarithm; NULL: none */
    size_t parameter_count;
    struct sweep_also also[SWEEP_ALSO_MAX];
    size_t also_count;
    const json_t *front;              /* status.front; borrowed; NULL: there is one objective */
    const struct sweep_trial *trials; /* by ascending index */
    size_t trial_count;
};

/* The best trial; among equals the first; NULL: none has a number. Only completed trials count if
 * there are any. */
const struct sweep_trial *sweep_best(const struct sweep_facts *facts);
/* The caller frees it. EXHAUSTED: it would be longer than SWEEP_HTML_MAX. */
NODISCARD int sweep_html(const struct sweep_facts *facts, char **ret_html, struct error *err);
/* {"metric", "isMinimized", "parameters": [{"name", "isLogarithmic"}], "trials": [{"index", "name",
 * "state", "best": number or null, "values": [text], "isBest", "message"}]} of as many trials as
 * the page draws; texts are as lib/text/shown.h makes them. The caller owns it. */
json_t *sweep_tree(const struct sweep_facts *facts);
/* One line with a bar for each trial: its number of reports relative to the largest. width: columns
 * of the terminal, 0: no limit. The caller frees it. */
char *sweep_table(const struct sweep_facts *facts, int width);
