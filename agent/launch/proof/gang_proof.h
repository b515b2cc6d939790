/* gang_proof.h: the exits of the ranks that a command starts itself (mpirun), as the pods report in
 * which they ran: whether all of a round are known to have ended with 0. A part of the state
 * machine gang.h. Pure, bounded.
 *
 * A launch is what one mpirun starts: ranks 0 to size - 1. It is complete when each of them has
 * ended with 0, and has failed while one has not. A script may start several, one after the other.
 * A failed launch is superseded by a later complete one of at least its size that began after its
 * end, as in `mpirun a || mpirun b`; nothing else does, so `mpirun a || true` fails.
 *
 * A rank that had to end (a signal from outside of its process group) has not ended well,
 * whatever its exit code: a program that answers SIGTERM with exit(0) has not come to its end.
 *
 * Of an MPI whose ranks cannot be wrapped (MPICH, Intel MPI) the proxies are reported, the
 * processes that start its ranks in each pod: each counts as a launch of size 1, which a rank that
 * is known to have failed there fails, too. */
#pragma once

#include "lib/base.h"

enum {
    GANG_ROUND_BITS = 20, /* a round's number: the attempt of the hub's pod << this | n (gang.h) */
    GANG_LAUNCH_NAME_MAX = 64, /* bytes of a launch's name, NUL included */
    /* Of launches that are incomplete at the same time; more are not proven, and so no success. */
    GANG_LAUNCHES_MAX = 64,
    GANG_LAUNCH_RANKS_MAX = 1 << 20, /* of all of them together */
};

struct gang_rank_report {
    const char *launch; /* unique within the round; borrowed */
    bool is_proxy;
    int rank, size; /* size: of the launch; 0: unknown, then those that have started are all */
    int index;      /* of the pod */
    /* Of an end: */
    int code;
    bool was_signalled;
    const char *detail; /* for people; NULL: none */
};

/* By what a success is proven. */
enum gang_proof_by {
    GANG_PROOF_COMMAND,   /* the exit of spec.command alone: it has started no rank that we know */
    GANG_PROOF_PROXIES,   /* the exits of the proxies, and those of their ranks that they saw */
    GANG_PROOF_RANKS,     /* each rank's exit */
    GANG_PROOF_PROCESSES, /* each process's exit (Torchrun, None) */
};

/* A round whose ranks have all ended with 0. */
struct gang_ended {
    int64_t round; /* 0: none */
    enum gang_proof_by by;
    int64_t count; /* ranks, proxies or processes */
};

enum gang_proof_state {
    GANG_PROOF_COMPLETE,
    GANG_PROOF_OPEN,   /* not all have reported their end */
    GANG_PROOF_FAILED, /* one has not ended well */
};

/* Why it is not complete. */
struct gang_proof_reason {
    int index, rank, code; /* of the first rank; code -1: unknown */
    char detail[512];      /* a sentence without "worker 1, rank 2 ended with exit code 7" */
};

/* The end of one rank (or proxy) with 0. */
struct gang_exit {
    int launch; /* whole ones, in the order of their ends, from 0 */
    int rank, index;
};
/* At most this many exits of whole launches are kept; those of a launch that has no room are only
 * counted. */
enum { GANG_EXITS_MAX = 16384 };

struct gang_proof;

struct gang_proof *gang_proof_new(void);
void gang_proof_free(struct gang_proof *proof); /* accepts NULL */

/* A rank has started, before its program runs; it may have run before, in the same launch. */
void gang_proof_started(struct gang_proof *proof, const struct gang_rank_report *report);
/* A rank has ended. One that has not started, or has ended already, changes nothing. */
void gang_proof_ended(struct gang_proof *proof, const struct gang_rank_report *report);

/* wanted: a whole launch of that size is needed; 0: none is. reason: set unless WHOLE. */
enum gang_proof_state gang_proof_find_state(const struct gang_proof *proof, int wanted,
                                            struct gang_proof_reason *reason);
/* The exits of whole launches, of the ranks or, if there are none, of the proxies; borrowed. */
const struct gang_exit *gang_proof_exits(const struct gang_proof *proof, size_t *ret_count);
/* How many ranks (or proxies) have ended well, in whole launches. */
enum gang_proof_by gang_proof_find_by(const struct gang_proof *proof, int64_t *ret_count);
const char *gang_proof_by_name(enum gang_proof_by by); /* "Ranks", as in GET /progress */
int gang_proof_by_named(const char *name);             /* -1: there is none of that name */
