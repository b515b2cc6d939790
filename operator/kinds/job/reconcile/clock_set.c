// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/clock_set.h"

#include "lib/time/clock.h"

int64_t clock_set_ms(struct clock_set *set, const json_t *object, int64_t wall_ms,
                     int64_t monotonic_ms) {
    const char *text = tree_text(object, "status.startTime", NULL);
    int64_t start_ms = text ? MAX(clock_parse(text), 0) : 0, ahead_ms = wall_ms - monotonic_ms;
    if (start_ms != set->start_ms) { /* written by the pass before, if there was one */
        *set = (struct clock_set){start_ms, set->is_known ? set->last_ms : ahead_ms};
    }
    set->is_known = true;
    set->last_ms = ahead_ms;
    return start_ms > 0 ? ahead_ms - set->ahead_ms : 0;
}
