/* runners.h: the parallel runners of a worker. Each runner has a queue of leases, a thread that
 * scores them, and a scorer. Results wait until the connection's thread takes them; that thread is
 * woken, but not for each of many quick leases. All functions are for the connection's thread. */
#pragma once

#include "agent/score/worker/scoring.h"

enum {
    RUNNERS_LAST_MS = 8000,    /* how long a running lease may continue after SIGTERM */
    RUNNERS_HANG_MS = 60000,   /* a dropped lease that runs longer ends the process */
    RUNNERS_LOG_END_MS = 2000, /* time limit for storing the last lines of programs */
};

/* All pointers are borrowed and must outlive the runners. */
struct runners_options {
    const struct job *job;
    struct store *output;
    struct publisher *publisher; /* NULL if workers publish nothing */
    /* Called when results wait, in any thread: once, and again after the next runners_read_status.
     * The runners' lock is held: it must not call their functions. */
    void (*wake)(void *context);
    void *context;
};

struct runners;

/* Opens one scorer per slot of the job; INVALID: the spec has a fault. The caller ends them with
 * runners_free, started or not. */
NODISCARD int runners_open(const struct runners_options *options, struct runners **ret_runners,
                           struct error *err);
/* Starts the threads, and in them the scorers. EXHAUSTED: no more threads. */
NODISCARD int runners_start(struct runners *runners, struct error *err);
/* Stops running leases, ends the threads, and frees scorers and runners. NULL is allowed. False: a
 * thread has not ended within timeout_ms. Then the runners' memory is not freed, since that thread
 * uses it: do not use the runners again, end the process. */
bool runners_free(struct runners *runners, int64_t timeout_ms);

int runners_count(const struct runners *runners);
/* What the results depend on, as all scorers have loaded it: see scorer.h. The caller owns it.
 * UNAVAILABLE: two scorers have loaded different files. */
NODISCARD int runners_list_files(const struct runners *runners, json_t **ret_files,
                                 struct error *err);
/* 1: all are ready for leases; 0: not yet; -1: one has failed to start; *err says why. INVALID of a
 * scorer that is a program: no worker can start it. */
NODISCARD int runners_ready(struct runners *runners, struct error *err);

/* Queues leases, each for the runner of its slot. epoch: of the coordinator that granted them.
 * Leases are copied; their works get a reference. What cannot be queued (no such slot, a full
 * queue) is reported as handed back. */
void runners_enqueue(struct runners *runners, int64_t epoch, const struct message_lease *leases,
                     size_t count);
/* The coordinator no longer wants this lease. It is still reported: at once if it has not begun,
 * otherwise when its scorer has stopped. */
void runners_cancel(struct runners *runners, int64_t lease);
/* The connection is lost: leases that have not begun go to other workers. Running leases continue:
 * their results are accepted unless another worker is faster. */
void runners_forget(struct runners *runners);
/* What the scorers have cost so far: scorer.h; owned by the caller. NULL: nothing is counted. */
json_t *runners_metrics(const struct runners *runners);
/* The number of workers that share the job's limits: scorer.h. */
void runners_share(const struct runners *runners, int workers);
/* All results to report, oldest first; the caller releases each (scoring_report_release) and frees
 * the array. NULL: none, *ret_count is 0. */
struct scoring_report *runners_take(struct runners *runners, size_t *ret_count);

/* The worker is leaving: no lease is begun any more; a running lease continues if it is likely to
 * end within RUNNERS_LAST_MS. */
void runners_leave(struct runners *runners);
void runners_stop(struct runners *runners); /* running leases must end now */
/* Reports leases that have not begun as handed back. */
void runners_hand_back(struct runners *runners);

struct runners_status {
    bool is_idle;         /* nothing runs */
    bool has_idle;        /* a slot runs nothing */
    bool hangs;           /* a cancelled lease still runs after RUNNERS_HANG_MS */
    bool is_storage_dead; /* a volume does not respond: this worker cannot continue */
    struct error ended;   /* no scorer can succeed any more: scorer.h; kind NONE: not so */
};
struct runners_status runners_read_status(struct runners *runners);
/* How long results may wait, so that more of them are sent at a time; 0: they are due, or there are
 * none. */
int runners_gather_ms(struct runners *runners);
