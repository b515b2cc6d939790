/* ranks.h: code shared by the benchmarks of sums between ranks (allreduce.c, overlap.c): one comm,
 * one plan of buckets, times from a common start to the end of the slowest rank. */
#pragma once

#include "agent/comm/reducer.h"
#include "lib/time/clock.h"

#include <stdio.h>
#include <stdlib.h>

static struct comm *comm;
static struct buckets buckets;

_Noreturn static void fail(const struct error *err) {
    fprintf(stderr, "rank %d: %s\n", comm ? comm->rank : -1, err->text);
    comm_abandon(1);
}

static int call_barrier(struct comm *of, void *context UNUSED, struct error *err) {
    return comm_barrier(of, err);
}

static int gather_most(struct comm *of, void *context, struct error *err) {
    double *seconds = context, *all = x_calloc((size_t)of->size, sizeof *all);
    int result = comm_gather(of, seconds, sizeof *seconds, all, err);
    for (int rank = 0; rank < of->size; rank++) {
        *seconds = MAX(*seconds, all[rank]);
    }
    free(all);
    return result;
}

/* Waits at a barrier; returns the time after it. */
static int64_t begin_ns(struct reducer *reducer) {
    struct error err = {0};
    if (reducer_call(reducer, call_barrier, NULL, &err) < 0) {
        fail(&err);
    }
    return clock_monotonic_ns();
}

static void wait_for_all(struct reducer *reducer) {
    struct error err = {0};
    for (size_t i = 0, bucket; i < buckets.count; i++) {
        if (reducer_wait(reducer, &bucket, &err) < 0) {
            fail(&err);
        }
    }
}

/* The largest value over all ranks. */
static double most(struct reducer *reducer, double seconds) {
    struct error err = {0};
    if (reducer_call(reducer, gather_most, &seconds, &err) < 0) {
        fail(&err);
    }
    return seconds;
}

static double seconds_since(int64_t start_ns) {
    return (double)(clock_monotonic_ns() - start_ns) / 1e9;
}
