// SPDX-License-Identifier: Apache-2.0
/* The reducer's thread, with ranks that are threads (threads_comm.h): every step's sums, in the
 * plan's order however buckets are due; an error ends all ranks. SOAK_SEED, SOAK_ROUNDS. */
#include "agent/comm/reducer.h"

#include "lib/time/clock.h"
#include "tests/seed.h"
#include "tests/test.h"
#include "tests/unit/agent/comm/threads_comm.h"

#include <time.h>

enum { BUCKETS_MAX = 12, PATIENCE_MS = 60000 };

/* Shared by the ranks of a round, with the number of errors that they saw. */
static struct {
    struct buckets buckets;
    uint64_t seed;
    int steps;
    atomic_int wrong, called;
} shared;

/* Sizes that all differ: ranks that sum different buckets at the same time are detected. */
static void plan(size_t count) {
    shared.buckets = (struct buckets){.count = count};
    shared.buckets.all = x_calloc(count + 1, sizeof *shared.buckets.all);
    for (size_t i = 0; i < count; i++) {
        shared.buckets.all[i].start = shared.buckets.bytes;
        shared.buckets.all[i].bytes = 64 * (1 + (i * 7) % 13);
        shared.buckets.bytes += shared.buckets.all[i].bytes;
    }
}

static void see(bool right) {
    if (!right) {
        atomic_fetch_add(&shared.wrong, 1);
    }
}

static float value(int rank, int step, size_t i) {
    return (float)((i * 31 + (size_t)rank * 1009 + (size_t)step * 7) % 4001);
}

static int count_call(struct comm *comm, void *context, struct error *err) {
    atomic_fetch_add(&shared.called, 1);
    *(int *)context = comm->rank;
    return comm_barrier(comm, err);
}

/* One step; buckets are due in this rank's order. */
static int step(struct reducer *reducer, struct comm *comm, float *values, int number,
                uint64_t *state, struct error *err) {
    size_t order[BUCKETS_MAX], count = shared.buckets.count;
    for (size_t i = 0; i < count; i++) {
        size_t other = test_random(state) % (i + 1);
        order[i] = order[other];
        order[other] = i;
    }
    for (size_t i = 0; i < count; i++) {
        if (test_random(state) % 4 == 0) {
            nanosleep(&(struct timespec){.tv_nsec = (long)(test_random(state) % 200000)}, NULL);
        }
        const struct bucket *of = &shared.buckets.all[order[i]]; /* filled now, not earlier */
        for (size_t k = of->start / 4; k < (of->start + of->bytes) / 4; k++) {
            values[k] = value(comm->rank, number, k);
        }
        reducer_due(reducer, order[i]);
    }
    for (size_t i = 0; i < count; i++) {
        size_t bucket = SIZE_MAX;
        if (reducer_wait(reducer, &bucket, err) < 0) {
            return -1;
        }
        see(bucket == i);
        struct reducer_span span = reducer_bucket_span(reducer, bucket);
        see(span.began_ns > 0 && span.ended_ns >= span.began_ns &&
            (i == 0 || span.began_ns >= reducer_bucket_span(reducer, i - 1).ended_ns));
        const struct bucket *of = &shared.buckets.all[i];
        for (size_t k = of->start / 4; k < (of->start + of->bytes) / 4; k++) {
            float wanted = 0;
            for (int rank = 0; rank < comm->size; rank++) {
                wanted += value(rank, number, k);
            }
            see(values[k] == wanted);
            values[k] = -1; /* the memory is ours from now on */
        }
    }
    return 0;
}

static void *train(void *context) {
    struct comm *comm = context;
    struct error err = {0};
    AUTO(reducer_closep) struct reducer *reducer = NULL;
    float *values = x_calloc(1, shared.buckets.bytes + 64);
    uint64_t state = shared.seed + (uint64_t)comm->rank;
    see(reducer_open(comm, &shared.buckets, values, PATIENCE_MS, &reducer, &err) == 0);
    for (int i = 0; i < shared.steps; i++) {
        see(step(reducer, comm, values, i, &state, &err) == 0);
        int rank = -1;
        see(reducer_call(reducer, count_call, &rank, &err) == 0 && rank == comm->rank);
    }
    struct reducer_times times = reducer_read_times(reducer);
    see(shared.buckets.count == 0 || (times.summing_ns > 0 && times.waiting_ns > 0));
    reducer_close(TAKE(reducer));
    free(values);
    if (err.kind) {
        printf("# rank %d: %s\n", comm->rank, err.text);
    }
    return NULL;
}

static void sums_are_right_in_any_order(void) {
    uint64_t state = test_seed(15);
    int64_t rounds = test_rounds(60);
    printf("# SOAK_SEED=%llu, %lld rounds\n", (unsigned long long)state, (long long)rounds);
    for (int64_t round = 0; round < rounds && !test_failures; round++) {
        struct meeting meeting;
        plan(test_random(&state) % (BUCKETS_MAX + 1));
        meeting_init(&meeting, 1 + (int)(test_random(&state) % 5));
        shared.seed = test_random(&state);
        shared.steps = 1 + (int)(test_random(&state) % 6);
        atomic_store(&shared.wrong, 0);
        atomic_store(&shared.called, 0);
        meeting_run(&meeting, train);
        CHECK_INT(atomic_load(&shared.wrong), 0);
        CHECK_INT(atomic_load(&meeting.mismatches), 0);
        CHECK_INT(atomic_load(&shared.called), meeting.size * shared.steps);
        meeting_release(&meeting);
        free(shared.buckets.all);
    }
}

/* Alone, with a comm that fails or never answers, on this thread. */
static struct meeting alone;
static struct reducer *open_alone(int64_t timeout_ms, float *values) {
    struct error err = {0};
    struct reducer *reducer = NULL;
    plan(3);
    CHECK(shared.buckets.bytes <= 4096);
    CHECK_OK(
        reducer_open(&alone.ranks[0].comm, &shared.buckets, values, timeout_ms, &reducer, &err),
        &err);
    return reducer;
}

static void a_call_that_fails_names_its_bucket(void) {
    static float values[1024];
    struct error err = {0};
    meeting_init(&alone, 1);
    alone.ranks[0].fail_at = 1;
    struct reducer *reducer = open_alone(PATIENCE_MS, values);
    for (size_t i = 0; i < 3; i++) {
        reducer_due(reducer, i);
    }
    size_t bucket = 9;
    CHECK_OK(reducer_wait(reducer, &bucket, &err), &err);
    CHECK_INT(bucket, 0);
    CHECK(reducer_wait(reducer, &bucket, &err) < 0);
    CHECK_STR(err.text, "bucket 2 of 3: call 1 failed");
    CHECK_INT(err.kind, ERROR_UNAVAILABLE);
    CHECK_INT(bucket, 0);
    CHECK(atomic_load(&alone.ranks[0].comm.is_lost));
    error_clear(&err); /* and so does every later call */
    CHECK(reducer_wait(reducer, &bucket, &err) < 0);
    int rank;
    error_clear(&err);
    CHECK(reducer_call(reducer, count_call, &rank, &err) < 0);
    CHECK_STR(err.text, "bucket 2 of 3: call 1 failed");
    reducer_close(reducer);
    meeting_release(&alone);
    free(shared.buckets.all);
}

/* A device that makes its gradients long after they are due, in separate memory. */
struct way {
    float *values, *apart;
    int awaited, fail_at;
};

static int await_slowly(void *context, size_t bucket, struct error *err) {
    struct way *way = context;
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    CHECK_INT(way->awaited++, (int)bucket);
    way->apart[bucket] = 1 + (float)bucket;
    return (int)bucket == way->fail_at ? error_set(err, ERROR_UNAVAILABLE, "the device is gone")
                                       : 0;
}

static int sum_apart(struct comm *comm, void *context, size_t bucket, struct error *err) {
    struct way *way = context;
    way->apart[bucket] *= 10;
    return comm_reduce(comm, &way->apart[bucket], 1, err);
}

/* The device's time does not count towards the time limit; its error does not blame other ranks. */
static void another_way_is_awaited_and_summed(void) {
    for (int fail_at = -1; fail_at < 2; fail_at += 2) {
        float values[1024] = {0}, apart[3] = {0};
        struct way way = {values, apart, 0, fail_at};
        struct error err = {0};
        size_t bucket = 9;
        meeting_init(&alone, 1);
        struct reducer *reducer = open_alone(100, values);
        reducer_set_ops(reducer, &(struct reducer_ops){await_slowly, sum_apart, &way});
        for (size_t i = 0; i < 3; i++) {
            reducer_due(reducer, i);
        }
        for (int i = 0; i < 3 && (fail_at < 0 || i < fail_at); i++) {
            CHECK_OK(reducer_wait(reducer, &bucket, &err), &err);
            CHECK(apart[i] == 10 * (float)(i + 1) && values[0] == 0);
        }
        if (fail_at >= 0) {
            CHECK_INT(reducer_wait(reducer, &bucket, &err), -1);
            CHECK_STR(err.text, "bucket 2 of 3: the device is gone");
            CHECK(!atomic_load(&alone.ranks[0].comm.is_lost));
        }
        reducer_close(reducer);
        meeting_release(&alone);
        free(shared.buckets.all);
    }
}

static int refuse(struct comm *comm UNUSED, void *context UNUSED, struct error *err) {
    return error_set(err, ERROR_INVALID, "other settings");
}

static void an_answer_that_is_no_is_not_the_end(void) {
    static float values[1024];
    struct error err = {0};
    meeting_init(&alone, 1);
    struct reducer *reducer = open_alone(PATIENCE_MS, values);
    CHECK(reducer_call(reducer, refuse, NULL, &err) < 0);
    CHECK_STR(err.text, "other settings");
    CHECK(!atomic_load(&alone.ranks[0].comm.is_lost));
    error_clear(&err);
    int rank = -1;
    CHECK_OK(reducer_call(reducer, count_call, &rank, &err), &err);
    CHECK_INT(rank, 0);
    reducer_close(reducer);
    meeting_release(&alone);
    free(shared.buckets.all);
}

/* The other rank never comes. The thread remains stuck and keeps its memory: so this test is the
 * last, and its memory is static. */
static void a_rank_that_never_comes_is_an_error(void) {
    static float values[1024];
    static const int64_t timeout_ms = 150;
    struct error err = {0};
    meeting_init(&alone, 2);
    struct reducer *reducer = open_alone(PATIENCE_MS, values);
    reducer_set_timeout(reducer, timeout_ms);
    reducer_due(reducer, 1); /* not begun: 0 is not due, which is our own delay */
    nanosleep(&(struct timespec){.tv_nsec = 2 * timeout_ms * 1000000}, NULL);
    int64_t start_ms = clock_monotonic_ms();
    reducer_due(reducer, 0);
    size_t bucket;
    CHECK(reducer_wait(reducer, &bucket, &err) < 0);
    int64_t took_ms = clock_monotonic_ms() - start_ms;
    CHECK_INT(err.kind, ERROR_TIMEOUT);
    CHECK_STR(err.text, "bucket 1 of 3: nothing from the other ranks for 0.1 s: one of them is "
                        "dead, stopped or cut off");
    CHECK(took_ms >= timeout_ms && took_ms < 30000);
    CHECK(atomic_load(&alone.ranks[0].comm.is_lost));
    reducer_close(reducer); /* returns */
}

static void a_call_without_the_others_is_an_error(void) {
    static struct buckets none;
    struct error err = {0};
    static struct meeting two;
    struct reducer *reducer = NULL;
    static int rank;
    meeting_init(&two, 2);
    CHECK_OK(reducer_open(&two.ranks[1].comm, &none, NULL, 100, &reducer, &err), &err);
    CHECK(reducer_call(reducer, count_call, &rank, &err) < 0);
    CHECK_INT(err.kind, ERROR_TIMEOUT);
    reducer_close(reducer);
}

/* A rank that gives up in the middle of a step: no memory is freed that the thread still uses. */
static void giving_up_in_a_sum_loses_the_comm(void) {
    static float values[1024];
    static struct meeting two;
    static struct buckets one;
    static struct bucket bucket = {.bytes = 64};
    struct error err = {0};
    struct reducer *reducer = NULL;
    one = (struct buckets){.bytes = 64, .count = 1, .all = &bucket};
    meeting_init(&two, 2);
    CHECK_OK(reducer_open(&two.ranks[0].comm, &one, values, PATIENCE_MS, &reducer, &err), &err);
    reducer_due(reducer, 0);
    for (int i = 0; i < 6000 && atomic_load(&two.begun) == 0; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    CHECK(!atomic_load(&two.ranks[0].comm.is_lost));
    reducer_close(reducer);
    CHECK(atomic_load(&two.ranks[0].comm.is_lost));
}

int main(void) {
    TEST(sums_are_right_in_any_order);
    TEST(a_call_that_fails_names_its_bucket);
    TEST(another_way_is_awaited_and_summed);
    TEST(an_answer_that_is_no_is_not_the_end);
    TEST(a_rank_that_never_comes_is_an_error);
    TEST(a_call_without_the_others_is_an_error);
    TEST(giving_up_in_a_sum_loses_the_comm);
    int code = TEST_END();
    fflush(stdout);
    _exit(code); /* threads are stuck on purpose; programs leave in the same way */
}
