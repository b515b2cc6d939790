/* scoring.h: scores one lease, from its items to the result. For runners.c, in a runner's thread.
 */
#pragma once

#include "agent/data/input/sink.h"
#include "agent/job.h"
#include "agent/score/scorer/scorer.h"
#include "agent/score/wire/message.h"
#include "agent/score/worker/publisher.h"

#include <stdatomic.h>

/* What a worker reports about a lease, until it is sent. */
struct scoring_report {
    int64_t epoch;
    struct message_result result;
    char *text;        /* owned; result.text points to it */
    char *output_tail; /* owned; result.output_tail */
    json_t *failures;  /* owned; result.failures */
    json_t *work;      /* owned; of its lease, or NULL. One thread frees all objects of a message:
                          jansson's last decref does not wait for other threads' reads */
};
void scoring_report_release(struct scoring_report *report);
/* The cause is copied. */
struct scoring_report scoring_report_fault(int64_t epoch, int64_t lease, enum message_fault fault,
                                           const char *cause);

/* What scores the lease, and where its results go. All pointers are borrowed. */
struct scoring {
    const struct job *job;
    struct store *output;
    struct publisher *publisher; /* NULL if workers publish nothing */
    enum sink_form form;         /* what becomes of the results */
    const struct scorer_kind *kind;
    struct scorer *scorer;
    atomic_bool *dropped;    /* the lease is no longer wanted */
    const atomic_bool *ends; /* the worker is leaving and must not wait any more */
};

/* If a volume of the job is dead, any failure counts as the machine's fault, and *ret_is_dead is
 * set. Failures of a storage that responds are retried for half of a try's time limit; they do not
 * count against the mini-batch and are not reported. ahead: see scorer_task; may be NULL. */
struct scoring_report scoring_run(const struct scoring *scoring, const struct scorer_lease *lease,
                                  const struct scorer_lease *ahead, bool *ret_is_dead);
