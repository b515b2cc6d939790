/* runners.h: what a worker does side by side. Each runner has its leases one behind the other, a
 * thread that scores them and a scorer of its own; what there is to tell waits until the
 * connection's thread takes it: it is woken, but not for each of many quick ones. All functions are
 * for that one thread. */
#pragma once

#include "agent/score/worker/attempt.h"

enum {
    RUNNERS_LAST_MS = 8000,    /* how long a running lease may take after SIGTERM */
    RUNNERS_HANG_MS = 60000,   /* a dropped lease that does not end: the process must */
    RUNNERS_LOG_END_MS = 2000, /* for the last lines of programs to be stored */
};

/* All is borrowed and must outlive the runners. */
struct runners_options {
    const struct job *job;
    struct store *output;
    struct publisher *publisher; /* NULL where nothing is published by workers */
    void (*wake)(void *context); /* from any runner's thread: there is something to tell */
    void *context;
};

struct runners;

/* Opens as many scorers as the job has slots: what is wrong with the spec is said here. */
NODISCARD int runners_open(const struct runners_options *options, struct runners **ret_runners,
                           struct error *err);
/* Starts the threads, and in them the scorers. */
NODISCARD int runners_start(struct runners *runners, struct error *err);
/* Stops what runs, ends the threads and the scorers within timeout_ms. False: they do not end, and
 * nothing was freed. */
bool runners_free(struct runners *runners, int64_t timeout_ms);

int runners_count(const struct runners *runners);
/* 1: all are ready for leases; 0: not yet; -1: one will never be, and why. */
NODISCARD int runners_ready(struct runners *runners, struct error *err);

void runners_give(struct runners *runners, int64_t epoch, const struct message_lease *leases,
                  size_t count);
/* One lease is no longer wanted; it is still reported, at once or when its scorer has dropped it.
 */
void runners_cancel(struct runners *runners, int64_t lease);
/* The connection is lost: leases that have not begun go to other workers. Running leases continue:
 * their results are accepted unless another worker was faster. */
void runners_forget(struct runners *runners);
/* All results to report, oldest first; the caller releases each and frees the array. NULL: nothing.
 * */
struct told *runners_take(struct runners *runners, size_t *ret_count);

/* This worker leaves: no more is begun; what runs goes on if it is likely to end in
 * RUNNERS_LAST_MS.
 */
void runners_leave(struct runners *runners);
void runners_stop(struct runners *runners); /* and now it has to end */
/* Reports leases that have not begun as handed back. */
void runners_hand_back(struct runners *runners);

struct runners_view {
    bool is_idle;         /* nothing runs */
    bool hangs;           /* a lease that was taken away does not end */
    bool is_storage_dead; /* seen after a try that failed: this worker is of no use */
};
struct runners_view runners_look(struct runners *runners);
