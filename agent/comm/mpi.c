// SPDX-License-Identifier: Apache-2.0
/* The only caller of MPI (tested with Open MPI 4.1; only names of environment variables are
 * specific to Open MPI). Not part of agent.a: the Makefile links it into windlass-trainer and its
 * tests. */
#include "agent/comm/comm.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_MAX = 1 << 28, BYTES_MAX = 1 << 30 }; /* of one call: MPI counts with an int */

static int error_from_mpi(struct error *err, int code, const char *what) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS || length == 0) {
        snprintf(text, sizeof text, "error %d", code);
    }
    return error_set(err, ERROR_UNAVAILABLE, "%s: %s", what, text);
}

static int mpi_reduce(struct comm *comm UNUSED, float *values, size_t count, struct error *err) {
    for (size_t at = 0; at < count; at += VALUES_MAX) {
        int part = (int)MIN(count - at, (size_t)VALUES_MAX);
        int code =
            MPI_Allreduce(MPI_IN_PLACE, values + at, part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        if (code != MPI_SUCCESS) {
            return error_from_mpi(err, code, "MPI_Allreduce");
        }
    }
    return 0;
}

static int mpi_broadcast(struct comm *comm UNUSED, void *bytes, size_t size, struct error *err) {
    for (size_t at = 0; at < size; at += BYTES_MAX) {
        int part = (int)MIN(size - at, (size_t)BYTES_MAX);
        int code = MPI_Bcast((char *)bytes + at, part, MPI_BYTE, 0, MPI_COMM_WORLD);
        if (code != MPI_SUCCESS) {
            return error_from_mpi(err, code, "MPI_Bcast");
        }
    }
    return 0;
}

static int mpi_gather(struct comm *comm UNUSED, const void *mine, size_t size, void *all,
                      struct error *err) {
    int code = MPI_Allgather(mine, (int)size, MPI_BYTE, all, (int)size, MPI_BYTE, MPI_COMM_WORLD);
    return code == MPI_SUCCESS ? 0 : error_from_mpi(err, code, "MPI_Allgather");
}

static int mpi_barrier(struct comm *comm UNUSED, struct error *err) {
    int code = MPI_Barrier(MPI_COMM_WORLD);
    return code == MPI_SUCCESS ? 0 : error_from_mpi(err, code, "MPI_Barrier");
}

/* MPI_Finalize waits for the other ranks, and for a call in another thread. */
static void mpi_close(struct comm *comm) {
    if (!atomic_load(&comm->is_lost)) {
        MPI_Finalize();
        free(comm);
    }
}

static const struct comm_ops mpi_ops = {.reduce = mpi_reduce,
                                        .broadcast = mpi_broadcast,
                                        .gather = mpi_gather,
                                        .barrier = mpi_barrier,
                                        .close = mpi_close};

/* Looks for the variables that MPI launchers set: mpirun, those of PMIx (PRRTE, Slurm), MPICH's. */
static bool mpi_is_meant(void) {
    return getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMIX_RANK") || getenv("PMI_SIZE");
}

/* The user's value has priority, from the environment or mpirun's command line. Ranks may outnumber
 * processors, and they compute between sums, so a waiting rank must yield. Only TCP and shared
 * memory are used: UCX and libfabric, which Open MPI prefers, probe for hardware that pods do not
 * have, and UCX fails where pods share an IPC namespace. */
static void set_defaults(void) {
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    setenv("OMPI_MCA_pml", "ob1", 0);
    setenv("OMPI_MCA_btl", "tcp,vader,self", 0);
}

/* With another MPI's launcher each process would be rank 0 of 1, and train alone. */
static int check_launcher(const struct comm *comm, struct error *err) {
    const char *size = getenv("PMI_SIZE");
    long wanted = size ? strtol(size, NULL, 10) : 1;
    if (comm->size == 1 && wanted > 1) {
        return error_set(err, ERROR_INVALID,
                         "started as one of %ld ranks by a launcher that %s does not know "
                         "(PMI_SIZE=%ld): use Open MPI's mpirun",
                         wanted, comm->about, wanted);
    }
    return 0;
}

static void describe(struct comm *comm) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);
    text[strcspn(text, ",\n")] = 0;
    snprintf(comm->about, sizeof comm->about, "%.63s", text);
}

static int mpi_open(struct comm **ret_comm, struct error *err) {
    int level = MPI_THREAD_SINGLE;
    set_defaults();
    int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    if (code != MPI_SUCCESS) {
        return error_from_mpi(err, code, "MPI_Init_thread");
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    struct comm *comm = x_calloc(1, sizeof *comm);
    comm->name = comm_mpi.name;
    comm->ops = &mpi_ops;
    describe(comm);
    if (MPI_Comm_rank(MPI_COMM_WORLD, &comm->rank) != MPI_SUCCESS ||
        MPI_Comm_size(MPI_COMM_WORLD, &comm->size) != MPI_SUCCESS) {
        error_set(err, ERROR_BUG, "MPI does not say which rank this is");
    } else if (level < MPI_THREAD_SERIALIZED) {
        error_set(err, ERROR_UNSUPPORTED,
                  "%s was built without threads: MPI_THREAD_SERIALIZED is needed", comm->about);
    } else if (check_launcher(comm, err) == 0) {
        *ret_comm = comm;
        return 0;
    }
    free(comm);
    return -1; /* without MPI_Finalize: mpirun ends the other ranks */
}

const struct comm_kind comm_mpi = {"mpi", mpi_is_meant, mpi_open};
