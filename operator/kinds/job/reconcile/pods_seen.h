/* pods_seen.h: when pods of a job were first seen to have ended or to be on their way out, and how
 * far the clock was set since their other times were seen, kept between passes: delays are measured
 * with our clock, as a node's may be wrong by minutes, and ours may be set. */
#pragma once

#include "operator/control/reconcile.h"
#include "operator/kinds/job/plan.h"

/* A pod that is alive. */
struct pod_alive {
    char *name, *place;  /* owned */
    int64_t at_ms[3];    /* when it was made, had a node, began to run; 0: not known */
    int64_t ahead_ms[3]; /* of the wall clock to the monotonic one, when each was seen */
    bool is_there;       /* in this pass */
};

/* Of one job; zero at first. There is one for each job: what is empty is NULL. */
struct pods_seen {
    json_t *ended;   /* {POD NAME: wall clock}, for this pass; owned, as all of these */
    json_t *leaving; /* the same of pods that are being deleted */
    json_t *set;     /* how far times of living pods have moved, as in job_observed */
    /* {POD NAME: monotonic} of the first two: the wall clock may be set meanwhile. */
    json_t *over, *since;
    struct pod_alive *alive; /* sorted by name */
    size_t alive_count;
    json_t *dropped; /* {NAME: true} of those that we have deleted */
    /* Of this pass: */
    json_t *vanished; /* [NAME] of pods that the pass before saw alive, and that are gone */
    json_t *lost;     /* {PLACE: NAME} of those, and of others that since then are being deleted, or
                         were evicted, preempted or lost with their node */
    int64_t next_ms;  /* the next pass at the earliest, monotonic */
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
/* Each event of a pod leads to a pass, which reads all pods of its job: of 64 and more pods, passes
 * are half a millisecond a pod apart, up to a second. True: this one is postponed. */
NODISCARD bool pods_seen_lately(const struct pods_seen *seen, struct reconcile *request);
