/* other_leader.h: leaves a job that has just begun to the controller that began it. Two controllers
 * that both lead, or of which one was replaced and does not know it, would else write the job's
 * Service anew in turns for ever, each with a Secret of its own. */
#pragma once

#include "operator/kinds/job/spec_snapshot.h"

/* Of one job; zero at first. */
struct other_leader {
    char made[SPEC_SNAPSHOT_DIGEST]; /* of the record that this controller made last; "": none */
    char seen[SPEC_SNAPSHOT_DIGEST]; /* of another one; "": there is none */
    int64_t seen_ms;                 /* since when, monotonic */
    int count;                       /* others that were seen, one after the other */
};

/* This controller puts a record with that digest on the job's Service. */
void other_leader_note_own(struct other_leader *other,
                           const char digest[static SPEC_SNAPSHOT_DIGEST]);
/* How long the Service must not be written anew: by then the controller that made it has pods or a
 * status. 2 s, doubling with each other record up to 64 s; 0: it is our own, or there is none. */
int64_t other_leader_hold_ms(struct other_leader *other, const json_t *service, int64_t now_ms);
