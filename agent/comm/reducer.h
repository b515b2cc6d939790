/* reducer.h: sums gradients over ranks while backward still computes. The reducer's thread makes
 * every call of a comm between reducer_open and reducer_close, so that other threads do not wait
 * for the network, and MPI_THREAD_SERIALIZED is enough for MPI.
 *
 * A step of training: reducer_due(bucket) as soon as all gradients of a bucket are computed, from
 * any thread, in any order; reducer_wait once for each bucket, by one thread, which gets them in
 * the order of buckets.h. Sums are always started in this order, which is the same on every rank: a
 * bucket that is due early waits for those before it. After the last reducer_wait the next step may
 * begin.
 *
 * timeout_ms: how long one call of the comm may take, including the wait for the slowest rank.
 * After that reducer_wait and reducer_call fail with ERROR_TIMEOUT: a rank is dead, stopped or
 * disconnected. The thread is still in the call, which cannot be cancelled. After an error of
 * reducer_wait, or with comm->is_lost set, the caller must leave by comm_abandon without freeing
 * what the comm may still use; mpirun then ends the other ranks. */
#pragma once

#include "agent/comm/buckets.h"
#include "agent/comm/comm.h"

struct reducer;

/* Start and end of a sum (clock_monotonic_ns). */
struct reducer_span {
    int64_t began_ns, ended_ns;
};

struct reducer_times {
    int64_t summing_ns; /* time that the thread spent in sums of buckets */
    int64_t waiting_ns; /* time in reducer_wait, which was not hidden by computing */
};

/* How a bucket is summed when its gradients are not in host memory, or a device still computes them
 * when they are due. Both are called by the reducer's thread. */
struct reducer_ops {
    /* Returns when the bucket's gradients are computed: local work, which has no time limit. */
    int (*await)(void *context, size_t bucket, struct error *err);
    /* Used instead of comm_reduce; returns when the sums are complete. */
    int (*sum)(struct comm *comm, void *context, size_t bucket, struct error *err);
    void *context;
};

/* All three are borrowed until reducer_close. memory: buckets->bytes bytes, for comm_reduce; may be
 * NULL if there are no buckets. timeout_ms: 0 means no limit. */
NODISCARD int reducer_open(struct comm *comm, const struct buckets *buckets, void *memory,
                           int64_t timeout_ms, struct reducer **ret_reducer, struct error *err);
/* Call it before the first bucket is due; ops are copied. */
void reducer_set_ops(struct reducer *reducer, const struct reducer_ops *ops);
/* If a call is in progress (this rank gives up between reducer_due and reducer_wait, or after an
 * error), the thread keeps running and the comm is lost: check comm->is_lost before freeing memory
 * that it uses. */
void reducer_close(struct reducer *reducer);
void reducer_closep(struct reducer **reducer);
/* Sets another timeout_ms. Called by the thread that waits, between steps. */
void reducer_set_timeout(struct reducer *reducer, int64_t timeout_ms);

/* Call it once per step for each bucket. Does not block. */
void reducer_due(struct reducer *reducer, size_t bucket);
/* Waits for the next bucket, 0 to count - 1 in each step, and returns its index. */
NODISCARD int reducer_wait(struct reducer *reducer, size_t *ret_bucket, struct error *err);

/* The newest sum of a bucket that reducer_wait has returned. */
struct reducer_span reducer_bucket_span(struct reducer *reducer, size_t bucket);

/* Other communication between ranks (weights, facts, barriers): the reducer's thread runs the
 * function. Called by the thread that waits, between steps. The function's error is returned. */
typedef int reducer_function(struct comm *comm, void *context, struct error *err);
NODISCARD int reducer_call(struct reducer *reducer, reducer_function *function, void *context,
                           struct error *err);

/* Since reducer_open. */
struct reducer_times reducer_read_times(struct reducer *reducer);
