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

enum { PROGRESS_WORDS = GANG_WORDS_MAX + 200 };

/* "worker 2, rank 5 ended with exit code 7: its last words" */
void progress_describe(const struct gang_verdict *last, char text[static PROGRESS_WORDS]);
/* The caller's. */
json_t *progress_tell(const struct progress *progress);
