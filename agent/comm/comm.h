/* comm.h: communication between the ranks (processes) of one training: mainly sums of gradients.
 * Kinds: single (one process, no communication), mpi (Open MPI; linked only into windlass-trainer,
 * so that no scoring worker loads it) and nccl (mpi, with sums in the memory of NVIDIA's GPUs; only
 * chosen by name).
 *
 * Every rank makes the same calls in the same order, with the same sizes; a call returns when all
 * have made it, without a time limit (reducer.h has one). One thread at a time may use a comm.
 *
 * Sums: every rank gets the same bits. MPI's standard only recommends that; Open MPI's allreduce
 * does it with every algorithm, and repeats it in the next run (tests/e2e/train/test_comm.sh;
 * `windlass-trainer comm check` checks it on the user's machines). The kind determines the order in
 * which ranks are added; it may depend on their number and on the size. */
#pragma once

#include "lib/error.h"

#include <stdatomic.h>

struct comm;

struct comm_ops {
    /* Adds values[i] of all ranks, in place. Host memory, as for all functions but the next. */
    int (*reduce)(struct comm *comm, float *values, size_t count, struct error *err);
    /* As `reduce`, but for values in the memory of this rank's device; the sums are complete when
     * it returns. NULL: this kind does not support devices, and the caller must copy through host
     * memory. It fails soon after another thread sets is_lost. */
    int (*reduce_device)(struct comm *comm, float *values, size_t count, struct error *err);
    /* Sends rank 0's bytes to all. */
    int (*broadcast)(struct comm *comm, void *bytes, size_t size, struct error *err);
    /* all: [comm->size][size] bytes, rank by rank, filled on every rank. size at most 1 MiB. */
    int (*gather)(struct comm *comm, const void *mine, size_t size, void *all, struct error *err);
    int (*barrier)(struct comm *comm, struct error *err);
    void (*close)(struct comm *comm);
};

/* The first member of each kind's struct. */
struct comm {
    const char *name; /* "mpi" */
    char about[64];   /* for messages: "Open MPI v4.1.4" */
    const struct comm_ops *ops;
    int rank, size;
    /* A call has failed or timed out: the state of the other ranks is unknown. Only comm_close may
     * follow, which then does not wait for the other ranks. */
    atomic_bool is_lost;
};

struct comm_kind {
    const char *name;
    /* Whether the environment says that this process was started as one rank of this kind. */
    bool (*is_meant)(void);
    int (*open)(struct comm **ret_comm, struct error *err);
};

/* The kinds of this program, NULL-terminated; single is the last, and its is_meant is always true.
 * agent/comm/registry.c and agent/trainer/registry.c: the linked one determines the kinds. */
extern const struct comm_kind *const comm_kinds[];
extern const struct comm_kind comm_single, comm_mpi, comm_nccl;

/* By name; NULL: the first kind whose is_meant is true. ERROR_UNSUPPORTED for a kind that this
 * program does not have, ERROR_INVALID for an unknown name. */
NODISCARD int comm_open(const char *name, struct comm **ret_comm, struct error *err);
/* For a lost comm it keeps the connections open, and the memory that a call may still use. */
void comm_close(struct comm *comm);
void comm_closep(struct comm **comm);
/* Ends this process without MPI_Finalize and exit handlers, which would wait for a thread in the
 * middle of a call. For a rank whose comm is lost, and for one for which others may wait in a sum;
 * mpirun ends the others. */
_Noreturn void comm_abandon(int exit_code);

/* The calls of comm_ops. One that fails makes the comm lost. */
NODISCARD int comm_reduce(struct comm *comm, float *values, size_t count, struct error *err);
NODISCARD int comm_reduce_device(struct comm *comm, float *values, size_t count, struct error *err);
NODISCARD int comm_broadcast(struct comm *comm, void *bytes, size_t size, struct error *err);
NODISCARD int comm_gather(struct comm *comm, const void *mine, size_t size, void *all,
                          struct error *err);
NODISCARD int comm_barrier(struct comm *comm, struct error *err);

/* Checks that every rank has the same value under this name: a setting as text, or the digest of
 * something long (the graph, the data's list). Names have at most 31 characters and values 95;
 * longer ones are truncated. If one differs: ERROR_INVALID on every rank, with the first rank that
 * differs from rank 0 and both values. The comm is not lost then. */
NODISCARD int comm_agree(struct comm *comm, const char *name, const char *value, struct error *err);
