// SPDX-License-Identifier: Apache-2.0
#include "agent/comm/comm.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GATHER_MAX = 1 << 20 };

static bool is_known(const char *name) {
    return strcmp(name, "mpi") == 0 || strcmp(name, "nccl") == 0;
}

int comm_open(const char *name, struct comm **ret_comm, struct error *err) {
    for (const struct comm_kind *const *kind = comm_kinds; *kind; kind++) {
        if (name ? strcmp((*kind)->name, name) == 0 : (*kind)->is_meant()) {
            return (*kind)->open(ret_comm, err);
        }
    }
    if (name && is_known(name)) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "comm \"%s\": this program is not linked with MPI, as windlass-trainer is",
                         name);
    }
    return error_set(err, ERROR_INVALID, "comm \"%s\" is unknown; single, mpi or nccl is expected",
                     name ? name : "");
}

void comm_close(struct comm *comm) {
    if (comm) {
        comm->ops->close(comm);
    }
}

void comm_closep(struct comm **comm) {
    comm_close(*comm);
}

static int note_lost(struct comm *comm, int result) {
    if (result < 0) {
        atomic_store(&comm->is_lost, true);
    }
    return result;
}

int comm_reduce(struct comm *comm, float *values, size_t count, struct error *err) {
    return note_lost(comm, comm->ops->reduce(comm, values, count, err));
}

int comm_reduce_device(struct comm *comm, float *values, size_t count, struct error *err) {
    assert(comm->ops->reduce_device);
    return note_lost(comm, comm->ops->reduce_device(comm, values, count, err));
}

int comm_broadcast(struct comm *comm, void *bytes, size_t size, struct error *err) {
    return note_lost(comm, comm->ops->broadcast(comm, bytes, size, err));
}

int comm_gather(struct comm *comm, const void *mine, size_t size, void *all, struct error *err) {
    assert(size <= GATHER_MAX);
    return note_lost(comm, comm->ops->gather(comm, mine, size, all, err));
}

int comm_barrier(struct comm *comm, struct error *err) {
    return note_lost(comm, comm->ops->barrier(comm, err));
}

_Noreturn void comm_abandon(int exit_code) {
    fflush(stdout);
    fflush(stderr);
    _exit(exit_code);
}

struct fact {
    char name[32], value[96]; /* padded with zeros, since they are compared as bytes */
};

int comm_agree(struct comm *comm, const char *name, const char *value, struct error *err) {
    struct fact mine = {0};
    snprintf(mine.name, sizeof mine.name, "%s", name);
    snprintf(mine.value, sizeof mine.value, "%s", value);
    struct fact *all = x_calloc((size_t)comm->size, sizeof *all);
    int result = comm_gather(comm, &mine, sizeof mine, all, err);
    for (int rank = 1; result == 0 && rank < comm->size; rank++) {
        if (strcmp(all[rank].name, all[0].name) != 0) {
            result = error_set(err, ERROR_INVALID,
                               "rank %d compares its %s while rank 0 compares its %s: the ranks "
                               "run different programs",
                               rank, all[rank].name, all[0].name);
        } else if (strcmp(all[rank].value, all[0].value) != 0) {
            result = error_set(err, ERROR_INVALID,
                               "%s differs: \"%s\" on rank %d, \"%s\" on rank 0; all ranks have "
                               "to be started alike",
                               name, all[rank].value, rank, all[0].value);
        }
    }
    free(all);
    return result;
}
