/* clock_set.h: how far the wall clock was set while a job runs, kept between passes, so that
 * spec.activeDeadlineSeconds and spec.startDeadlineSeconds last their time whatever is done to the
 * clock. Pure. */
#pragma once

#include "lib/tree.h"

/* About one time in a job's status; zero at first. */
struct clock_set {
    int64_t since_ms; /* the time itself; 0: none */
    int64_t ahead_ms; /* of the wall clock to the monotonic one, when it was written */
    int64_t last_ms;  /* the same in the last pass */
    bool is_known;    /* there was one */
};

/* By how much the wall clock was set ahead (or back, below 0) since this time of the job's status
 * was seen (written: its text, as status.startTime; NULL: there is none). The other times are those
 * of the pass. */
int64_t clock_set_ms(struct clock_set *set, const char *written, int64_t wall_ms,
                     int64_t monotonic_ms);
