/* ledger.h: who may work on what. PURE: the state machine of mini-batches, leases and workers; the
 * time is an argument, nothing is sent, read or logged here. Used by the coordinator alone; one
 * thread. Every event costs O(log n) or less, a mini-batch 8 bytes.
 *
 * A worker holds up to two leases: the head, which it runs, and one ahead. The head's clock starts
 * when it becomes the head. A head that outlives timeout_ms is taken away and counts as a try; its
 * worker gets nothing more until it says something about that lease. A worker that leaves gives its
 * leases back: the head counts as retried (not as a try), the one ahead was not begun. A result of
 * a lease that was taken away is still welcome, once, as long as nobody else ended the mini-batch.
 */
#pragma once

#include "lib/error.h"

enum {
    LEDGER_LEASES = 2,          /* at one worker */
    LEDGER_LOSSES_MAX = 10,     /* a mini-batch whose worker dies this often fails: it kills them */
    LEDGER_FAILURES_MAX = 1000, /* failed mini-batches that are remembered with their cause */
    LEDGER_WORKERS_MAX = 65536, /* names ever seen */
    LEDGER_BATCHES_MAX = 1 << 24,
};

struct ledger;

struct ledger_options {
    int64_t items;       /* >= 1 */
    int64_t batch_items; /* items of a mini-batch; the last may have fewer */
    int max_tries;       /* 1..65535 */
    int64_t timeout_ms;
    int64_t first_lease; /* leases are numbered from here, so that two ledgers' never meet */
};

struct ledger_lease {
    int worker; /* index */
    int64_t lease, batch;
    int try; /* 1 for the first */
};

struct ledger_count {
    int64_t total, done, failed, retried;
};

struct ledger_counts {
    struct ledger_count batches, items;
    int64_t leased; /* mini-batches at workers */
    int workers;    /* present */
};

struct ledger_worker {
    const char *name;
    bool present;
    int64_t batches, items;           /* accepted results */
    int64_t errors, timeouts, losses; /* tries that failed, leases that expired or were lost */
};

struct ledger_failure {
    int64_t batch;
    int tries;
    int worker;      /* the last that had it */
    char cause[256]; /* of the last try */
};

enum ledger_verdict {
    LEDGER_IGNORED, /* nobody waits for it: unknown, already ended, or somebody else's */
    LEDGER_DONE,
    LEDGER_LATE,   /* done by a lease that had been taken away */
    LEDGER_RETRY,  /* not done: it waits to be leased again */
    LEDGER_FAILED, /* not done, and tried often enough */
};

/* Fails with INVALID when there are more than LEDGER_BATCHES_MAX mini-batches. */
NODISCARD int ledger_new(const struct ledger_options *options, struct ledger **ret_ledger,
                         struct error *err);
void ledger_free(struct ledger *ledger);

/* A worker came: *ret_worker is its index; a name that was here before keeps its index. Fails with
 * EXHAUSTED beyond LEDGER_WORKERS_MAX, CONFLICT when the name is present. */
NODISCARD int ledger_join(struct ledger *ledger, const char *name, int *ret_worker,
                          struct error *err);
void ledger_leave(struct ledger *ledger, int worker);

/* The next lease to give out, if any; call until false after every event. Workers with nothing
 * come first; one ahead is given only while enough mini-batches wait for everybody. What was given
 * back goes first; else a worker gets the neighbour of its last (stretch.h). */
bool ledger_grant(struct ledger *ledger, int64_t now_ms, struct ledger_lease *ret_lease);
/* The next lease that was taken away from a worker that must be told; call until false.
 * *ret_verdict: RETRY or FAILED for a time-out, IGNORED where the lease is simply no longer
 * wanted. */
bool ledger_take(struct ledger *ledger, int64_t now_ms, struct ledger_lease *ret_lease,
                 enum ledger_verdict *ret_verdict);
/* When ledger_take has something to say next if nothing else happens; -1: never. */
int64_t ledger_deadline_ms(const struct ledger *ledger);

/* A worker says that it is done with `items` items; another number than the mini-batch has is an
 * error. ledger_fail: that it could not, and why. *ret_batch (may be NULL) is set unless IGNORED.
 */
enum ledger_verdict ledger_finish(struct ledger *ledger, const struct ledger_lease *lease,
                                  int64_t items, int64_t now_ms, int64_t *ret_batch);
enum ledger_verdict ledger_fail(struct ledger *ledger, const struct ledger_lease *lease,
                                const char *cause, int64_t now_ms, int64_t *ret_batch);

bool ledger_is_done(const struct ledger *ledger); /* every mini-batch is done or failed */
int64_t ledger_batch_items(const struct ledger *ledger, int64_t batch);
const struct ledger_counts *ledger_counts(const struct ledger *ledger);
size_t ledger_worker_count(const struct ledger *ledger); /* ever seen */
struct ledger_worker ledger_worker(const struct ledger *ledger, int worker);
/* The first LEDGER_FAILURES_MAX, in the order they failed. */
const struct ledger_failure *ledger_failures(const struct ledger *ledger, size_t *ret_count);
