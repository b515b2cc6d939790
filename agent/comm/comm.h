/* comm.h: what the ranks (processes) of one training say to each other: sums of gradients above
 * all. Kinds: single (one process, nothing to say), mpi (Open MPI; linked into windlass-trainer
 * alone, so that no scoring worker loads it) and nccl (mpi, with sums in the memory of NVIDIA's
 * GPUs; never chosen but by name).
 *
 * Every rank makes the same calls in the same order, with the same sizes; a call returns when all
 * have made it, however long that takes (reducer.h has patience). One thread at a time uses a comm.
 *
 * Sums: every rank ends with the same bits. MPI's standard only advises that; Open MPI's allreduce
 * does it, whichever way it chooses, and does it again in the next run
 * (tests/e2e/train/test_comm.sh; `windlass-trainer comm check` looks on anybody's machines). In
 * which order ranks are added is the kind's, and may change with their number and the size. */
#pragma once

#include "lib/error.h"

#include <stdatomic.h>

struct comm;

struct comm_ops {
    /* values[i] of all ranks are added, in place. Host memory, as in all but the next. */
    int (*reduce)(struct comm *comm, float *values, size_t count, struct error *err);
    /* Likewise in the memory of this rank's device; the sums are there when it returns. NULL: this
     * kind knows no device, and who has numbers there carries them over the host. It ends with an
     * error soon after is_lost is set by another thread. */
    int (*reduce_device)(struct comm *comm, float *values, size_t count, struct error *err);
    /* Rank 0's bytes go to all. */
    int (*broadcast)(struct comm *comm, void *bytes, size_t size, struct error *err);
    /* all: [comm->size][size] bytes, rank by rank, filled on every rank. size at most 1 MiB. */
    int (*gather)(struct comm *comm, const void *mine, size_t size, void *all, struct error *err);
    int (*barrier)(struct comm *comm, struct error *err);
    void (*close)(struct comm *comm);
};

/* Embedded as the first member of each kind's own struct. */
struct comm {
    const char *name; /* "mpi" */
    char about[64];   /* for people: "Open MPI v4.1.4" */
    const struct comm_ops *ops;
    int rank, size;
    /* A call has failed or timed out: the state of the other ranks is unknown. Only comm_close may
     * follow, which then ends without the other ranks (it would wait). */
    atomic_bool is_lost;
};

struct comm_kind {
    const char *name;
    /* Whether the environment says that this process was started as one rank of this kind. */
    bool (*is_meant)(void);
    int (*open)(struct comm **ret_comm, struct error *err);
};

/* The kinds that this program has, NULL at the end; single is the last, and is always meant.
 * agent/comm/registry.c, agent/trainer/registry.c: what is linked is what there is. */
extern const struct comm_kind *const comm_kinds[];
extern const struct comm_kind comm_single, comm_mpi, comm_nccl;

/* By name; NULL: the first kind that is meant. ERROR_UNSUPPORTED for a kind that there is, but not
 * in this program, ERROR_INVALID for any other name. */
NODISCARD int comm_open(const char *name, struct comm **ret_comm, struct error *err);
/* A lost comm keeps its connections open and the memory that a call may still use. */
void comm_close(struct comm *comm);
void comm_closep(struct comm **comm);
/* Ends this process, without MPI_Finalize and exit handlers, which a thread in the middle of a call
 * would keep waiting: the way out for a rank whose comm is lost, and for one that others may wait
 * for in a sum. mpirun ends them. */
_Noreturn void comm_abandon(int exit_code);

/* The calls of comm_ops. One that fails makes the comm lost. */
NODISCARD int comm_reduce(struct comm *comm, float *values, size_t count, struct error *err);
NODISCARD int comm_reduce_device(struct comm *comm, float *values, size_t count, struct error *err);
NODISCARD int comm_broadcast(struct comm *comm, void *bytes, size_t size, struct error *err);
NODISCARD int comm_gather(struct comm *comm, const void *mine, size_t size, void *all,
                          struct error *err);
NODISCARD int comm_barrier(struct comm *comm, struct error *err);

/* That every rank has the same value under this name: a setting as text, or the digest of something
 * long (the graph, the data's list). At most 31 and 95 characters, else both are cut. Where one has
 * not: ERROR_INVALID on every rank, naming the first rank that differs from rank 0, and the values
 * of both. Nothing is lost by it. */
NODISCARD int comm_agree(struct comm *comm, const char *name, const char *value, struct error *err);
