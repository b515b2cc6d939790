/* trial_row.h: what a Sweep's plan needs of its trials: one row for each, read from the DistTrain
 * as the controller keeps it (kinds/disttrain/cache_transform.h). Pure. */
#pragma once

#include "lib/number/curve.h"
#include "operator/kinds/sweep/search/space.h"

enum { TRIAL_ALIKE_MAX = 256 };

enum trial_state {
    TRIAL_RUNNING, /* not ended: it waits, or runs */
    TRIAL_COMPLETED,
    TRIAL_STOPPED, /* by spec.stop */
    TRIAL_FAILED,  /* or completed without a valid value of the objective */
    TRIAL_STATE_COUNT
};

struct trial_row {
    int64_t index;
    enum trial_state state;
    char *name, *uid; /* owned */
    char *stop; /* spec.stop, and if stopped the termination message; owned; NULL: not to stop */
    bool is_suspended;
    json_t *values;  /* {"NAME": "text"}; owned */
    json_t *trained; /* status.trained: how much of its network is; owned; NULL: unknown */
    json_t *bad;     /* status.badSamples; owned; NULL: none, or unknown */
    json_t *losses;  /* status.losses, of several outputs; owned; NULL: none */
    bool is_placed;  /* its values are in this space, at `units` */
    double units[SPACE_PARAMETERS_MAX];
    struct curve curve;
    double best;            /* NAN: it has reported no number */
    double last;            /* its last report; NAN: not a number */
    json_t *also;           /* status.objective.also; owned; NULL: none */
    char result_sha256[65]; /* of its result.json; "": unknown */
    char *result_message;   /* what its readers must know, as that its data changed; owned; NULL:
                               nothing */
    int64_t end_ms;         /* wall clock; 0: unknown, or not ended */
    char *failure;          /* the reason if it failed; owned */
    char *waits;            /* the reason if it is under way and waits; owned, as the next */
    char *waits_for;        /* the message of it */
    bool is_silent;         /* it completed without reporting its objective */
    bool is_own_failure;    /* it failed by its own doing, so that its point is at fault */
    char alike[TRIAL_ALIKE_MAX]; /* its failure without names and numbers: equal in trials that
                                    failed alike; "": it has not failed by its own doing */
};

/* False: the object is not a trial of a Sweep. True: call trial_row_release. metric:
 * spec.objective.metric. */
bool trial_row_read(const json_t *trial, const struct space *space, const char *metric,
                    struct trial_row *ret_row);
void trial_row_release(struct trial_row *row);
