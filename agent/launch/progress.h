/* progress.h: what a gang's facts are in words: of GET /progress (operator/kinds/disttrain/status.h
 * has its form) state, reason, message, workers and restarts. Pure. */
#pragma once

#include "agent/launch/gang.h"
#include "lib/tree.h"

struct progress {
    const struct gang_facts *facts;
    int workers;  /* spec.workers */
    bool has_run; /* a round was started */
    bool is_over;
    int code; /* is_over: the job's */
};

/* The caller's. */
json_t *progress_tell(const struct progress *progress);
