// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/clock_set.h"

#include "lib/time/clock.h"

int64_t clock_set_ms(struct clock_set *set, const char *written, int64_t wall_ms,
                     int64_t monotonic_ms) {
    int64_t since_ms = written ? MAX(clock_parse(written), 0) : 0;
    int64_t ahead_ms = wall_ms - monotonic_ms;
    if (since_ms != set->since_ms) { /* written by the pass before, if there was one */
        *set = (struct clock_set){.since_ms = since_ms,
                                  .ahead_ms = set->is_known ? set->last_ms : ahead_ms};
    }
    set->is_known = true;
    set->last_ms = ahead_ms;
    return since_ms > 0 ? ahead_ms - set->ahead_ms : 0;
}
