/* attempt.h: one lease scored, from its items to what is told of it. For runners.c, in a runner's
 * thread. */
#pragma once

#include "agent/data/input/sink.h"
#include "agent/job.h"
#include "agent/score/wire/message.h"
#include "agent/score/worker/publisher.h"
#include "agent/score/worker/scorer.h"

#include <stdatomic.h>

/* A result that is not sent. */
struct told {
    int64_t epoch;
    struct message_result result;
    char *text;       /* owned; what result.text points to */
    char *said;       /* owned; result.said */
    json_t *failures; /* owned; result.failures */
    json_t *work;     /* owned; of its lease, or NULL. One thread alone lets go of what came with a
                       * message: jansson's last decref does not wait for other threads' reads */
};
void told_release(struct told *told);
/* The cause is copied. */
struct told told_fault(int64_t epoch, int64_t lease, enum message_fault fault, const char *cause);

/* By whom, and where to. All is borrowed. */
struct attempt {
    const struct job *job;
    struct store *output;
    struct publisher *publisher; /* NULL where nothing is published by workers */
    enum sink_form form;
    const struct scorer_kind *kind;
    struct scorer *scorer;
    atomic_bool *dropped;    /* the lease is no longer wanted */
    const atomic_bool *ends; /* the worker leaves, and waits no longer */
};

/* What fails while a volume of the job is dead is the machine's fault, whatever it looks like, and
 * *ret_is_dead. Trouble of a storage that answers is waited out, trying again, for half of a try's
 * time: it costs the mini-batch nothing, and nobody hears of it. ahead: scorer.h; or NULL. */
struct told attempt_run(const struct attempt *attempt, const struct scorer_lease *lease,
                        const struct scorer_lease *ahead, bool *ret_is_dead);
