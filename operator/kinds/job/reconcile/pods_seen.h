/* pods_seen.h: when pods of a job were first seen to have ended or to be on their way out, and how
 * far the clock was set since their other times were seen, kept between passes: delays are measured
 * with our clock, as a node's may be wrong by minutes, and ours may be set. Pure. */
#pragma once

#include "operator/kinds/job/plan.h"

/* Of one job; zero at first. */
struct pods_seen {
    json_t *ended;   /* {POD NAME: wall clock}, for this pass; owned; NULL: none */
    json_t *leaving; /* the same of pods that are being deleted */
    json_t *set;     /* how far times of living pods have moved, as in job_observed; mostly empty */
    /* {POD NAME: monotonic} of the first two: the wall clock may be set meanwhile. */
    json_t *over, *since;
    /* Of living ones, {POD NAME: each time, and how far ahead we were at its sight; its place}. */
    json_t *times;
    json_t *dropped; /* {NAME: true} of those that we have deleted; NULL: none */
    /* Of this pass; NULL: none. */
    json_t *vanished; /* [NAME] of pods that the pass before saw alive, and that are gone */
    json_t *lost;     /* {PLACE: NAME} of those, and of others that are being deleted since then */
};

enum {
    /* A controller that has just started may find a pod that is leaving for long: of its grace
     * period only what is left counts, by the server's clock, which is wrong by no more than */
    PODS_SEEN_CLOCKS_MS = 600000,
    PODS_SEEN_GRACE_MS = 60000, /* at least, and at most its grace period */
};

void pods_seen_release(struct pods_seen *seen);
/* A pod that we have deleted is neither vanished nor lost. */
void pods_seen_drop(struct pods_seen *seen, const char *name);
/* pods: an array; of others nothing is kept. The time is that of the pass. */
void pods_seen_note(struct pods_seen *seen, const json_t *pods, int64_t wall_ms,
                    int64_t monotonic_ms);
