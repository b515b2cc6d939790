/* rows.h: what a Sweep's plan looks at of its trials: a row of each, read from the DistTrain as the
 * controller keeps it (kinds/disttrain/cache_transform.h). Pure. */
#pragma once

#include "lib/curve.h"
#include "operator/kinds/sweep/search/space.h"

enum trial_state {
    TRIAL_RUNNING, /* not ended: it waits, or runs */
    TRIAL_COMPLETED,
    TRIAL_STOPPED, /* by spec.stop */
    TRIAL_FAILED,  /* or completed without one number of the objective */
};

struct trial_row {
    int64_t index;
    enum trial_state state;
    char *name, *uid; /* owned */
    char *stop; /* spec.stop, and of a stopped one its termination message; owned; NULL: not told to
                 */
    bool is_suspended;
    json_t *values; /* {"NAME": "text"}; owned */
    bool is_placed; /* its values are of this space, at: */
    double units[SPACE_PARAMETERS_MAX];
    struct curve curve;
    double best;    /* NAN: it has said no number */
    double last;    /* its last report; NAN: that was no number */
    int64_t end_ms; /* wall clock; 0: unknown, or not ended */
    char *failure;  /* of a failed one: why; owned */
    bool is_silent; /* it completed, and its objective is missing */
};

/* False: that is no trial of a Sweep. Else to be released. metric: spec.objective.metric. */
bool trial_row_read(const json_t *trial, const struct space *space, const char *metric,
                    struct trial_row *ret_row);
void trial_row_release(struct trial_row *row);
