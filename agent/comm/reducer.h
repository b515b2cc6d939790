/* reducer.h: sums gradients over ranks while backward still computes. One thread of its own makes
 * every call of a comm between reducer_open and reducer_close, so that no other thread waits for
 * the network, and MPI needs no more than MPI_THREAD_SERIALIZED.
 *
 * A step of training: reducer_due(bucket) as soon as all gradients of a bucket are made, from any
 * thread, in any order; reducer_wait once for each bucket, by one thread, which gets them in the
 * plan's order. Sums are always begun in the plan's order, which is the same on every rank: a
 * bucket that is due early waits for those before it. After the last reducer_wait the next step may
 * begin.
 *
 * Patience: how long one call of the comm may take, which includes waiting for the slowest rank.
 * Then reducer_wait and reducer_call fail with ERROR_TIMEOUT: a rank is dead, stopped or cut off.
 * The thread is still in the call, which cannot be cancelled. After an error of reducer_wait, or
 * with comm->is_lost set, the caller must leave by comm_abandon without freeing what the comm may
 * still use; mpirun then ends the other ranks. */
#pragma once

#include "agent/comm/buckets.h"
#include "agent/comm/comm.h"

struct reducer;

/* When a sum was made (clock_monotonic_ns). */
struct reducer_span {
    int64_t began_ns, ended_ns;
};

struct reducer_times {
    int64_t summing_ns; /* that the thread spent in sums of buckets */
    int64_t waiting_ns; /* that reducer_wait took: what computing did not hide */
};

/* How a bucket is summed when its gradients are not in host memory, or a device still computes them
 * when they are due. Both are called by the reducer's thread. */
struct reducer_way {
    /* Returns when the bucket's gradients are computed: local work, which has no time limit. */
    int (*await)(void *context, size_t bucket, struct error *err);
    /* In place of comm_reduce; returns when the sums are there. */
    int (*sum)(struct comm *comm, void *context, size_t bucket, struct error *err);
    void *context;
};

/* All three are borrowed until reducer_close. memory: buckets->bytes, as comm_reduce wants it; may
 * be NULL where there are no buckets. patience_ms: 0 for ever. */
NODISCARD int reducer_open(struct comm *comm, const struct buckets *buckets, void *memory,
                           int64_t patience_ms, struct reducer **ret_reducer, struct error *err);
/* Before the first bucket is due; way is copied. */
void reducer_set_way(struct reducer *reducer, const struct reducer_way *way);
/* Where a call is under way (this rank gives up between reducer_due and reducer_wait, or after an
 * error) the thread is left to it, and the comm is lost: look before freeing what it uses. */
void reducer_close(struct reducer *reducer);
void reducer_closep(struct reducer **reducer);
/* Another patience from now on; by the thread that waits, between steps. */
void reducer_set_patience(struct reducer *reducer, int64_t patience_ms);

/* Once a step for each bucket. Does not block. */
void reducer_due(struct reducer *reducer, size_t bucket);
/* Waits for the next bucket, 0 to count - 1 each step, and says which it is. */
NODISCARD int reducer_wait(struct reducer *reducer, size_t *ret_bucket, struct error *err);

/* The newest sum of a bucket that reducer_wait has given. */
struct reducer_span reducer_span(struct reducer *reducer, size_t bucket);

/* Anything else that is said between ranks (weights, facts, barriers): the thread runs the
 * function; between steps, by the thread that waits. The function's error is the call's. */
typedef int reducer_function(struct comm *comm, void *context, struct error *err);
NODISCARD int reducer_call(struct reducer *reducer, reducer_function *function, void *context,
                           struct error *err);

/* Since reducer_open. */
struct reducer_times reducer_times(struct reducer *reducer);
