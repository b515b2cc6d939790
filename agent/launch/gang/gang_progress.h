/* gang_progress.h: what a gang's facts are in words: of GET /progress
 * (operator/kinds/disttrain/status.h has its form) state, reason, message, workers and restarts.
 * Pure. */
#pragma once

#include "agent/launch/gang/gang.h"
#include "lib/tree.h"

struct gang_progress {
    const struct gang_facts *facts;
    int workers;  /* spec.workers */
    bool has_run; /* a round was started */
    bool is_over;
    int code; /* is_over: the job's */
};

enum { GANG_PROGRESS_WORDS = GANG_WORDS_MAX + 200 };

/* "worker 2, rank 5 ended with exit code 7: its last words" */
void gang_progress_describe(const struct gang_verdict *last, char text[static GANG_PROGRESS_WORDS]);
/* The same text (what GET /progress says) in so many bytes at most, for the termination message of
 * a pod: the list of pods that were lost goes, and messages become shorter; nothing else does. The
 * caller frees. */
char *gang_progress_cut(const char *text, size_t max);
/* The caller's. */
json_t *gang_progress_tell(const struct gang_progress *progress);
