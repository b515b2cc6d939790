/* sweep_html.h: what people look at of a Sweep: sweep.html, a page of its own with nothing from
 * elsewhere (inline SVG, no script), and the same as a table for a terminal. Made of plain facts,
 * which whoever knows the kind fills in; pure. */
#pragma once

#include "lib/curve.h"
#include "lib/error.h"

enum {
    SWEEP_HTML_MAX = 32 << 20,  /* bytes */
    SWEEP_HTML_LINES_MAX = 500, /* trials that are drawn: the best, then the newest */
    SWEEP_BAR = 12,             /* columns */
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
    struct curve curve;        /* as lib/curve.h reads it */
    int64_t reports;           /* so many, not at its last point alone */
    double best;               /* NAN: it has said no number */
    const char *const *values; /* one for each parameter; NULL: not known */
    const char *message;       /* why it was stopped or has failed; NULL: nothing to say */
};

struct sweep_facts {
    const char *name, *state, *message; /* "Running", "12 of 40 trials ended" */
    const char *metric;
    bool is_minimized;
    const char *const *parameters;
    const bool
        *is_logarithmic; /* one for each parameter: it is chosen by its logarithm; NULL: none */
    size_t parameter_count;
    const struct sweep_trial *trials; /* by rising index */
    size_t trial_count;
};

/* The best of them, which is best among equals for having come first; NULL: none has a number.
 * Completed ones alone, while there is one. */
const struct sweep_trial *sweep_best(const struct sweep_facts *facts);
/* The caller frees. EXHAUSTED: it would be longer than SWEEP_HTML_MAX. */
NODISCARD int sweep_html(const struct sweep_facts *facts, char **ret_html, struct error *err);
/* Lines with a bar for each trial: its reports of those of the one that has most. width: columns of
 * the terminal, 0: no limit. The caller frees. */
char *sweep_table(const struct sweep_facts *facts, int width);
