/* threads_comm.h: ranks that are threads of one process. They really sum, and fail on request. They
 * detect ranks that do not make the same call with the same size. */
#pragma once

#include "agent/comm/comm.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct meeting {
    int size;
    pthread_barrier_t barrier;
    struct threads_comm *ranks;
    float *sum;
    size_t sum_room;
    atomic_int mismatches, begun; /* calls that differed among ranks; whether one has begun */
};

struct threads_comm {
    struct comm comm;
    struct meeting *meeting;
    const char *what; /* the call that this rank makes */
    size_t size;
    const void *bytes;
    int calls;
    int fail_at;    /* this call fails, -1: none */
    int corrupt_at; /* this reduction's first number is wrong, only on this rank; -1: none */
    int vanish_at;  /* this rank never makes that call, -1: none */
};

/* All ranks have arrived with their calls; false if the calls differ. */
static bool meet(struct threads_comm *self, const char *what, size_t size, const void *bytes) {
    self->what = what;
    self->size = size;
    self->bytes = bytes;
    pthread_barrier_wait(&self->meeting->barrier);
    bool same = true;
    for (int i = 0; i < self->meeting->size; i++) {
        const struct threads_comm *other = &self->meeting->ranks[i];
        same = same && strcmp(other->what, what) == 0 && other->size == size;
    }
    atomic_fetch_add(&self->meeting->mismatches, !same);
    pthread_barrier_wait(&self->meeting->barrier);
    return same;
}

static int threads_begin(struct threads_comm *self, struct error *err) {
    int call = self->calls++;
    atomic_fetch_add(&self->meeting->begun, 1);
    while (call == self->vanish_at) {
        pause();
    }
    return call == self->fail_at ? error_set(err, ERROR_UNAVAILABLE, "call %d failed", call) : 0;
}

static int threads_reduce(struct comm *comm, float *values, size_t count, struct error *err) {
    struct threads_comm *self = (struct threads_comm *)comm;
    struct meeting *meeting = self->meeting;
    int call = self->calls;
    if (threads_begin(self, err) < 0 || !meet(self, "reduce", count, values)) {
        return error_set(err, ERROR_BUG, "ranks make different calls");
    }
    if (comm->rank == 0) {
        if (count > meeting->sum_room) {
            meeting->sum = x_realloc_array(meeting->sum, count, sizeof *meeting->sum);
            meeting->sum_room = count;
        }
        for (size_t i = 0; i < count; i++) {
            meeting->sum[i] = 0;
            for (int rank = 0; rank < meeting->size; rank++) {
                meeting->sum[i] += ((const float *)meeting->ranks[rank].bytes)[i];
            }
        }
    }
    pthread_barrier_wait(&meeting->barrier);
    memcpy(values, meeting->sum, count * sizeof *values);
    if (call == self->corrupt_at) {
        uint32_t bits;
        memcpy(&bits, values, sizeof bits);
        bits ^= 1; /* the smallest possible error */
        memcpy(values, &bits, sizeof bits);
    }
    pthread_barrier_wait(&meeting->barrier);
    return 0;
}

static int threads_gather(struct comm *comm, const void *mine, size_t size, void *all,
                          struct error *err) {
    struct threads_comm *self = (struct threads_comm *)comm;
    if (threads_begin(self, err) < 0 || !meet(self, "gather", size, mine)) {
        return error_set(err, ERROR_BUG, "ranks make different calls");
    }
    for (int rank = 0; rank < comm->size; rank++) {
        memcpy((char *)all + (size_t)rank * size, self->meeting->ranks[rank].bytes, size);
    }
    pthread_barrier_wait(&self->meeting->barrier);
    return 0;
}

static int threads_barrier(struct comm *comm, struct error *err) {
    struct threads_comm *self = (struct threads_comm *)comm;
    if (threads_begin(self, err) < 0 || !meet(self, "barrier", 0, NULL)) {
        return error_set(err, ERROR_BUG, "ranks make different calls");
    }
    return 0;
}

static void threads_close(struct comm *comm UNUSED) {
}

static const struct comm_ops threads_ops = {.reduce = threads_reduce,
                                            .gather = threads_gather,
                                            .barrier = threads_barrier,
                                            .close = threads_close};

static void meeting_init(struct meeting *meeting, int size) {
    *meeting = (struct meeting){.size = size};
    meeting->ranks = x_calloc((size_t)size, sizeof *meeting->ranks);
    pthread_barrier_init(&meeting->barrier, NULL, (unsigned)size);
    for (int i = 0; i < size; i++) {
        meeting->ranks[i] = (struct threads_comm){
            .comm = {.name = "threads", .ops = &threads_ops, .rank = i, .size = size},
            .meeting = meeting,
            .fail_at = -1,
            .corrupt_at = -1,
            .vanish_at = -1};
    }
}

static void meeting_release(struct meeting *meeting) {
    pthread_barrier_destroy(&meeting->barrier);
    free(meeting->ranks);
    free(meeting->sum);
}

/* Runs main(rank's comm) on a thread for each rank, and waits for all. */
static void meeting_run(struct meeting *meeting, void *(*rank_main)(void *)) {
    pthread_t *threads = x_calloc((size_t)meeting->size, sizeof *threads);
    for (int i = 0; i < meeting->size; i++) {
        pthread_create(&threads[i], NULL, rank_main, &meeting->ranks[i].comm);
    }
    for (int i = 0; i < meeting->size; i++) {
        pthread_join(threads[i], NULL);
    }
    free(threads);
}
