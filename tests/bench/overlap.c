// SPDX-License-Identifier: Apache-2.0
/* How much of the time to sum ResNet-50's gradients the reducer hides behind computation
 * (overlap.sh). The computation is a sleep, as where each rank has a GPU, or "spin": processor
 * time, which also shows what the reducer's thread takes from it while it waits. A third of it is
 * forward; a gradient is ready when the multiply-adds of backward before it are done. Three
 * variants alternate: computation alone, sums after it, sums during it. A time is that of the
 * slowest rank. Rank 0 prints JSON. */
#include "tests/bench/ranks.h"
#include "tests/resnet50.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum mode { COMPUTE, OFF, ON, MODE_COUNT };

static const char *const mode_names[MODE_COUNT] = {"compute_seconds", "off_seconds", "on_seconds"};

static struct resnet50 net;
static double *ready_after; /* [buckets.count]: the share of backward's work before it */
static bool spins;

static int64_t clock_ns(void) {
    struct timespec now;
    clock_gettime(spins ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A sleep, or processor time by this thread's clock. */
static void compute_until(int64_t ns) {
    struct timespec until = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    while (spins && clock_ns() < ns) {
        for (volatile int i = 0; i < 20000; i++) {
        }
    }
    while (!spins && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) {
    }
}

static double step(struct reducer *reducer, enum mode mode, double compute_s) {
    int64_t start_ns = begin_ns(reducer), own_ns = clock_ns();
    for (size_t i = 0; mode == ON && i < buckets.count; i++) {
        compute_until(own_ns + (int64_t)(compute_s * 1e9 * (1 + 2 * ready_after[i]) / 3));
        reducer_due(reducer, i);
    }
    compute_until(own_ns + (int64_t)(compute_s * 1e9));
    for (size_t i = 0; mode == OFF && i < buckets.count; i++) {
        reducer_due(reducer, i);
    }
    if (mode != COMPUTE) {
        wait_for_all(reducer);
    }
    return most(reducer, seconds_since(start_ns));
}

/* The time at which the last gradient of each bucket is ready. */
static void plan(void) {
    resnet50_init(&net);
    buckets_plan(net.bytes, net.ready_after_step, net.count, (size_t)64 << 20, &buckets);
    ready_after = x_calloc(buckets.count, sizeof *ready_after);
    for (size_t i = 0; i < net.count; i++) {
        double *due = &ready_after[buckets.places[i].bucket];
        *due = MAX(*due, net.done[i]);
    }
}

int main(int argc, char **argv) {
    struct error err = {0};
    double compute_s = argc > 1 ? strtod(argv[1], NULL) / 1e3 : 1.6;
    int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 5;
    spins = argc > 3 && strcmp(argv[3], "spin") == 0;
    if (!(compute_s > 0 && compute_s < 1000) || rounds < 1 || rounds > 1000) {
        fprintf(stderr, "Usage: mpirun -np 4 overlap [COMPUTE_MS [ROUNDS [sleep|spin]]]\n");
        return 2;
    }
    if (comm_open("mpi", &comm, &err) < 0) {
        fail(&err);
    }
    plan();
    float *values = x_calloc(1, buckets.bytes);
    struct reducer *reducer = NULL;
    if (reducer_open(comm, &buckets, values, 120000, &reducer, &err) < 0) {
        fail(&err);
    }
    double *seconds = x_calloc((size_t)rounds * MODE_COUNT, sizeof *seconds);
    step(reducer, OFF, 0.01); /* first use: pages, connections */
    for (int i = 0; i < rounds; i++) {
        for (int mode = 0; mode < MODE_COUNT; mode++) {
            seconds[mode * rounds + i] = step(reducer, (enum mode)mode, compute_s);
        }
    }
    if (comm->rank == 0) {
        printf("{\"ranks\": %d, \"bytes\": %zu, \"buckets\": %zu", comm->size, buckets.bytes,
               buckets.count);
        for (int k = 0; k < MODE_COUNT * rounds; k++) {
            bool is_first = k % rounds == 0, is_last = k % rounds == rounds - 1;
            printf("%s%s%s%.6f%s", is_first ? ", \"" : "", is_first ? mode_names[k / rounds] : "",
                   is_first ? "\": [" : ", ", seconds[k], is_last ? "]" : "");
        }
        printf("}\n");
    }
    reducer_close(reducer);
    buckets_release(&buckets);
    free(ready_after);
    free(values);
    free(seconds);
    comm_close(comm);
    return 0;
}
