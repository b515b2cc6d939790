/* clock_set.h: how far the wall clock was set while a job runs, kept between passes, so that
 * spec.activeDeadlineSeconds lasts its time whatever is done to the clock. Pure. */
#pragma once

#include "lib/tree.h"

/* Of one job; zero at first. */
struct clock_set {
    int64_t start_ms; /* status.startTime; 0: none was seen */
    int64_t ahead_ms; /* of the wall clock to the monotonic one, when it was written */
    int64_t last_ms;  /* the same in the last pass */
    bool is_known;    /* there was one */
};

/* By how much the wall clock was set ahead (or back, below 0) since the job's start was seen. The
 * time is that of the pass. */
int64_t clock_set_ms(struct clock_set *set, const json_t *object, int64_t wall_ms,
                     int64_t monotonic_ms);
