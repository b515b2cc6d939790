/* other_leader.h: leaves a job that has just begun to the controller that began it. Two controllers
 * that both lead, or of which one was replaced and does not know it, would else write the job's
 * Service anew in turns for ever, each with a Secret of its own. */
#pragma once

#include "operator/kinds/job/spec_snapshot.h"

enum { OTHER_LEADER_OWN = 4 };

/* Of one job; zero at first. */
struct other_leader {
    /* Of the records that this controller made last, the newest first: of writes that failed an
     * earlier one may be stored. "": none. */
    char made[OTHER_LEADER_OWN][SPEC_SNAPSHOT_DIGEST];
    char seen[SPEC_SNAPSHOT_DIGEST]; /* of another one; "": there is none */
    bool is_left;                    /* the Service is left to another one since seen_ms */
    int64_t seen_ms;                 /* monotonic */
    int count;                       /* others that were seen, one after the other */
};

/* This controller sends a record with that digest. One of another that is then found begins its
 * time. */
void other_leader_note_own(struct other_leader *other,
                           const char digest[static SPEC_SNAPSHOT_DIGEST]);
/* The job's credentials are in use: others are counted anew. */
void other_leader_note_begun(struct other_leader *other);
/* How long the Service must not be written anew: by then the controller that made it has pods or a
 * status. 2 s, doubling with each other record up to 64 s; 0: it is our own, or there is none.
 * After ten records that led to nothing a further one does not begin the 64 s again, so that who
 * writes one a minute does not hold the job for ever. */
int64_t other_leader_hold_ms(struct other_leader *other, const json_t *service, int64_t now_ms);
