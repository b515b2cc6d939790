// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/gang/gang_cause.h"

#include <assert.h>

static const char *const cause_names[] = {"",    "Disruption", "Lost",  "Memory",
                                          "App", "Hang",       "Final", "Final"};
static_assert(ARRAY_LEN(cause_names) == GANG_CAUSE_REPEATED + 1, "a name for each cause");

const char *gang_cause_name(enum gang_cause cause) {
    return cause_names[cause];
}

bool gang_cause_is_counted(enum gang_cause cause) {
    return cause == GANG_CAUSE_MEMORY || cause == GANG_CAUSE_APP || cause == GANG_CAUSE_HANG;
}

bool gang_cause_is_final(enum gang_cause cause) {
    return cause == GANG_CAUSE_FATAL || cause == GANG_CAUSE_REPEATED;
}
