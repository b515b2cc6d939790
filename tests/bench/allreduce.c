// SPDX-License-Identifier: Apache-2.0
/* Times the reducer, with the buckets of a network of a given size in megabytes, against one plain
 * MPI_Allreduce in place of the same bytes, alternating in one run (allreduce.sh). A time is that
 * of the slowest rank, measured from a barrier. Rank 0 prints JSON. All sums are compared. */
#include "tests/bench/ranks.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static float *values;

static int say_plain(struct comm *of UNUSED, void *context UNUSED, struct error *err) {
    int code = MPI_Allreduce(MPI_IN_PLACE, values, (int)(buckets.bytes / sizeof *values), MPI_FLOAT,
                             MPI_SUM, MPI_COMM_WORLD);
    return code == MPI_SUCCESS ? 0 : error_set(err, ERROR_UNAVAILABLE, "MPI_Allreduce failed");
}

static void by_reducer(struct reducer *reducer) {
    for (size_t i = 0; i < buckets.count; i++) {
        reducer_due(reducer, i);
    }
    wait_for_all(reducer);
}

/* The same thread makes the plain call: the comparison is about buckets and order, without the cost
 * of switching threads, which only one side would have. */
static double one(struct reducer *reducer, bool is_plain) {
    struct error err = {0};
    for (size_t i = 0; i < buckets.bytes / sizeof *values; i++) {
        values[i] = 1;
    }
    int64_t start_ns = begin_ns(reducer);
    if (!is_plain) {
        by_reducer(reducer);
    } else if (reducer_call(reducer, say_plain, NULL, &err) < 0) {
        fail(&err);
    }
    double seconds = seconds_since(start_ns);
    for (size_t i = 0; i < buckets.bytes / sizeof *values; i++) {
        if (values[i] != (float)comm->size) {
            error_set(&err, ERROR_FAILED, "the sum is wrong at %zu", i);
            fail(&err);
        }
    }
    return most(reducer, seconds);
}

static void print(const char *name, const double *seconds, int rounds) {
    printf("\"%s\": [", name);
    for (int i = 0; i < rounds; i++) {
        printf("%s%.6f", i ? ", " : "", seconds[i]);
    }
    printf("]");
}

int main(int argc, char **argv) {
    struct error err = {0};
    size_t megabytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
    int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 20;
    if (megabytes < 1 || megabytes > 8000 || rounds < 1 || rounds > 10000) {
        fprintf(stderr, "Usage: mpirun -np 4 allreduce [MEGABYTES [ROUNDS]]\n");
        return 2;
    }
    if (comm_open("mpi", &comm, &err) < 0) {
        fail(&err);
    }
    size_t count = megabytes * 4, *bytes = x_calloc(count, sizeof *bytes);
    int *ready_after_step = x_calloc(count, sizeof *ready_after_step);
    for (size_t i = 0; i < count; i++) {
        bytes[i] = 250000;
        ready_after_step[i] = (int)i;
    }
    buckets_plan(bytes, ready_after_step, count, (size_t)64 << 20, &buckets);
    values = x_calloc(1, buckets.bytes);
    struct reducer *reducer = NULL;
    if (reducer_open(comm, &buckets, values, 60000, &reducer, &err) < 0) {
        fail(&err);
    }
    double *ours = x_calloc((size_t)rounds, sizeof *ours),
           *plain = x_calloc((size_t)rounds, sizeof *plain);
    one(reducer, true); /* first use: pages, connections */
    one(reducer, false);
    for (int i = 0; i < rounds; i++) {
        bool plain_first = i % 2;
        double first = one(reducer, plain_first), second = one(reducer, !plain_first);
        plain[i] = plain_first ? first : second;
        ours[i] = plain_first ? second : first;
    }
    if (comm->rank == 0) {
        printf("{\"ranks\": %d, \"bytes\": %zu, \"buckets\": %zu, ", comm->size, buckets.bytes,
               buckets.count);
        print("reducer_seconds", ours, rounds);
        printf(", ");
        print("plain_seconds", plain, rounds);
        printf("}\n");
    }
    reducer_close(reducer);
    buckets_release(&buckets);
    free(values);
    free(bytes);
    free(ready_after_step);
    free(ours);
    free(plain);
    comm_close(comm);
    return 0;
}
