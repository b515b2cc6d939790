/* gang_progress.h: the state of a gang for people: the fields state, reason, message, workers and
 * restarts of GET /progress (operator/kinds/disttrain/status.h has its form). Pure. */
#pragma once

#include "agent/launch/gang/gang.h"
#include "lib/tree.h"

struct gang_progress {
    const struct gang_facts *facts;
    int workers;  /* spec.workers */
    bool has_run; /* a round was started */
    /* What keeps the result from being stored, while the gang runs; NULL, "": nothing. */
    const char *waits;
    bool is_storing; /* the other members are released, while the hub reads the outputs */
    bool is_finished;
    int code;                 /* is_finished: the job's exit code */
    const char *model_sha256; /* of a training's result, as it was checked; NULL: none */
    /* Of result.json; and why it is missing, or what a reader must know about it. NULL: none. */
    const char *result_sha256, *result_message;
};

enum { GANG_PROGRESS_TEXT_MAX = GANG_DETAIL_MAX + 200 /* bytes, NUL included */ };

/* "worker 2, rank 5 ended with exit code 7: the end of its output" */
void gang_progress_describe(const struct gang_failure *last,
                            char text[static GANG_PROGRESS_TEXT_MAX]);
/* The object; the caller's. */
json_t *gang_progress_json(const struct gang_progress *progress);
/* Shortens an answer to GET /progress to at most max bytes, for the pod's termination message:
 * drops the list of lost pods and the further metrics, then cuts messages. The caller frees. */
char *gang_progress_cut(const char *text, size_t max);
