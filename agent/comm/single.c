// SPDX-License-Identifier: Apache-2.0
/* One process: the sum is its own gradients, in host or device memory. */
#include "agent/comm/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int single_reduce(struct comm *comm UNUSED, float *values UNUSED, size_t count UNUSED,
                         struct error *err UNUSED) {
    return 0;
}

static int single_broadcast(struct comm *comm UNUSED, void *bytes UNUSED, size_t size UNUSED,
                            struct error *err UNUSED) {
    return 0;
}

static int single_gather(struct comm *comm UNUSED, const void *mine, size_t size, void *all,
                         struct error *err UNUSED) {
    memcpy(all, mine, size);
    return 0;
}

static int single_barrier(struct comm *comm UNUSED, struct error *err UNUSED) {
    return 0;
}

static void single_close(struct comm *comm) {
    free(comm);
}

static const struct comm_ops single_ops = {.reduce = single_reduce,
                                           .reduce_device = single_reduce,
                                           .broadcast = single_broadcast,
                                           .gather = single_gather,
                                           .barrier = single_barrier,
                                           .close = single_close};

static bool single_is_meant(void) {
    return true;
}

static int single_open(struct comm **ret_comm, struct error *err UNUSED) {
    struct comm *comm = x_calloc(1, sizeof *comm);
    comm->name = comm_single.name;
    comm->ops = &single_ops;
    comm->size = 1;
    snprintf(comm->about, sizeof comm->about, "one process");
    *ret_comm = comm;
    return 0;
}

const struct comm_kind comm_single = {"single", single_is_meant, single_open};
