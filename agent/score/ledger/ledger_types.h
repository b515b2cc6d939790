/* ledger_types.h: arguments and results of the ledger. ledger.h explains cells, leases, slots,
 * heads, tries and second runs. */
#pragma once

#include "lib/base.h"

enum {
    LEDGER_LOSSES_MAX = 10,     /* a cell fails if this many of its workers die, since it probably
                                   kills them */
    LEDGER_FAILURES_MAX = 1000, /* failed cells that are kept with their cause */
    LEDGER_WORKERS_MAX = 65536, /* names ever seen */
    LEDGER_SLOTS_MAX = 1024,    /* of a worker; all together: LEDGER_WORKERS_MAX */
    LEDGER_AHEAD_MAX = 1024,    /* leases of a slot after its head */
    LEDGER_AHEAD_MS = 50,       /* leases ahead cover this time, by the measured durations */
    LEDGER_LEASE_CELLS = 10000, /* maximum of a lease */
    LEDGER_SLOW_MS = 1000,      /* no lease counts as slow before this time */
    LEDGER_SECOND_RUNS_MIN = 8, /* second runs that a small job may have, too */
    LEDGER_CELLS_MAX = 1 << 24,
    LEDGER_LEASE_BITS = 32, /* lease numbers are EPOCH << LEDGER_LEASE_BITS and up */
    LEDGER_EPOCH_MAX = INT32_MAX,
    LEDGER_CAUSE_MAX = 256, /* bytes of a cause, with its NUL; longer ones are cut */
};

struct ledger_options {
    int64_t cell_items;           /* of every cell except the last; 0: known only from the result */
    int max_tries;                /* 1..65535 */
    int64_t timeout_ms;           /* how long a lease may be the head of its slot */
    int64_t wait_ms;              /* how long a worker may delay the start of the head */
    int ahead_max;                /* leases of a slot after its head, 0..LEDGER_AHEAD_MAX */
    bool is_auto;                 /* leases of several cells */
    bool runs_once;               /* no second runs of a lease that has begun */
    int64_t cells_for_second_run; /* of leases that have begun: at most one for this many cells, or
                                     LEDGER_SECOND_RUNS_MIN in all; 0: any number */
    bool is_partitioned;          /* each slot works through a range of its own (video) */
    int64_t errors_max;           /* failed items that do not fail the job; -1: any number */
    int64_t cell_errors_max;      /* cells with failed items that do not; -1: any number */
    double cell_errors_percent;   /* of all cells, checked once each was leased; < 0: any number */
};

struct ledger_lease {
    int worker, slot; /* slot: of the worker, from 0 */
    int64_t lease;    /* its number, never used twice */
    int64_t first;    /* cell */
    int32_t cells;
    int try;        /* 1 for the first; of a lease of several cells always 1 */
    int64_t items;  /* 0: unknown; of an ended lease: the counted number */
    bool is_second; /* a second run: another lease with these cells was slow */
};

/* done: of items, the successful ones; of cells, those without a failed item. */
struct ledger_count {
    int64_t total, done, failed, retried;
};

struct ledger_counts {
    /* total: those known so far; of items an estimate if only results have the number */
    struct ledger_count cells, items;
    int64_t leased, waiting, committed; /* cells */
    int workers, slots;                 /* of workers that are connected */
};

struct ledger_worker {
    const char *name;
    bool present; /* connected */
};

struct ledger_failure { /* a cell with failed items that will not be tried again */
    int64_t cell, items, failed;
    int tries;
    int worker;                   /* the last worker that had it */
    char cause[LEDGER_CAUSE_MAX]; /* of the last try */
};

/* What the ledger decides about the end of a lease. */
enum ledger_decision {
    LEDGER_IGNORED, /* unknown, already ended, or another worker's */
    LEDGER_DONE,
    LEDGER_LATE,    /* done by a lease that had been revoked */
    LEDGER_PARTIAL, /* some items succeeded, the others have failed permanently */
    LEDGER_RETRY, /* not done: it waits to be leased again, or its twin, another lease with the same
                     cells, continues */
    LEDGER_FAILED, /* not done, and no tries are left */
};

/* A record of a commit. decision and failed: of a range that has ended. */
struct ledger_record {
    enum ledger_decision decision;
    int64_t first, cells, items, failed;
};

enum ledger_fault {
    LEDGER_NO_FAULT,
    LEDGER_SCORER,      /* an error, a crash, a time-out, results missing: a try */
    LEDGER_MACHINE,     /* a mount, a store: counts like a lost worker */
    LEDGER_HANDED_BACK, /* handed back before it began: does not count */
};

/* A lease that the ledger ended without a report from its worker. RETRY: it timed out, or its
 * worker is lost (is_lost). FAILED: the same, and it was the last try or the last allowed loss; a
 * record must be written. IGNORED: its result is not needed any more. A worker that is still
 * connected must get a CANCEL message. */
struct ledger_revoked {
    struct ledger_lease lease;
    enum ledger_decision decision;
    bool is_lost;
    enum ledger_fault fault; /* of RETRY and FAILED: SCORER: it timed out; MACHINE: it was lost, or
                              * its worker delayed its start for too long */
    char cause[LEDGER_CAUSE_MAX]; /* of RETRY and FAILED */
};

struct ledger_report {
    int worker; /* whose connection it came from */
    int64_t lease;
    enum ledger_fault fault;
    int64_t items;   /* results, including failed ones; of a fault: the lease's items, 0:
                        unknown */
    int64_t failed;  /* of NO_FAULT: failed items; more than 0 is a scorer's fault, but the other
                        results are kept if it was the last try */
    bool is_final;   /* with failed, or SCORER: another try would find the same items failed, so it
                        is the last one, if the lease has one cell */
    int64_t took_us; /* by the worker's clock; -1: not reported, our clock is used */
    const char *cause; /* of a fault, or of the first failed item; NULL: "" */
};
