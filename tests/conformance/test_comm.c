// SPDX-License-Identifier: Apache-2.0
/* Tests that every comm must pass. Started alone it tests `single`; tests/e2e/train/test_comm.sh
 * starts it by mpirun, for `mpi`. Rank 0 prints "ok", any rank "not ok", since each has its own
 * checks. SOAK_SEED, SOAK_ROUNDS: for the reducer's steps. */
#include "agent/comm/reducer.h"

#include "lib/digest.h"
#include "lib/time/clock.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static struct comm *comm;

static uint64_t mixed(uint64_t x) {
    return test_random(&x);
}

static float number(int rank, size_t i) {
    return (float)(int32_t)(mixed((uint64_t)rank << 32 | i) >> 32) * 0x1p-20f;
}

/* From one number to more than any algorithm takes in one piece, and odd counts: whatever MPI
 * chooses for a size, all ranks get the same bits, close to the sum in double. */
static void sums_have_the_same_bits_everywhere(void) {
    static const size_t counts[] = {1, 2, 3, 17, 1000, 4099, 100003, 1 << 20, (1 << 22) + 5};
    float *values = x_calloc((1 << 22) + 5, sizeof *values);
    for (size_t row = 0; row < ARRAY_LEN(counts); row++) {
        struct error err = {0};
        for (size_t i = 0; i < counts[row]; i++) {
            values[i] = number(comm->rank, i);
        }
        CHECK_OK(comm_reduce(comm, values, counts[row], &err), &err);
        size_t wrong = 0;
        for (size_t i = 0; i < counts[row]; i++) {
            double sum = 0, sizes = 0;
            for (int rank = 0; rank < comm->size; rank++) {
                sum += (double)number(rank, i);
                sizes += (double)number(rank, i) * (number(rank, i) < 0 ? -1 : 1);
            }
            double off = (double)values[i] - sum;
            wrong += !((off < 0 ? -off : off) <= sizes * comm->size * 0x1p-24);
        }
        CHECK_INT(wrong, 0);
        char hex[65];
        digest_sha256(values, counts[row] * sizeof *values, hex);
        CHECK_OK(comm_agree(comm, "bits of the sum", hex, &err), &err);
    }
    free(values);
}

/* Memory of a device is added on the device; here the device is the host (in test_nccl.sh, too). */
static void sums_on_devices_are_right(void) {
    enum { COUNT = 100003 };
    float *values = x_calloc(COUNT, sizeof *values);
    for (int round = 0; comm->ops->reduce_device && round < 3; round++) {
        struct error err = {0};
        size_t wrong = 0;
        for (size_t i = 0; i < COUNT; i++) {
            values[i] = (float)((i + (size_t)(comm->rank * 7 + round)) % 1009);
        }
        CHECK_OK(comm_reduce_device(comm, values, COUNT, &err), &err);
        for (size_t i = 0; i < COUNT; i++) {
            float wanted = 0;
            for (int rank = 0; rank < comm->size; rank++) {
                wanted += (float)((i + (size_t)(rank * 7 + round)) % 1009);
            }
            wrong += values[i] != wanted;
        }
        CHECK_INT(wrong, 0);
    }
    free(values);
}

static void rank_zero_tells_all(void) {
    static const size_t sizes[] = {1, 7, 4096, 3000001};
    unsigned char *bytes = x_malloc(3000001);
    for (size_t row = 0; row < ARRAY_LEN(sizes); row++) {
        struct error err = {0};
        for (size_t i = 0; i < sizes[row]; i++) {
            bytes[i] = comm->rank == 0 ? (unsigned char)mixed(i + row) : 0;
        }
        CHECK_OK(comm_broadcast(comm, bytes, sizes[row], &err), &err);
        size_t wrong = 0;
        for (size_t i = 0; i < sizes[row]; i++) {
            wrong += bytes[i] != (unsigned char)mixed(i + row);
        }
        CHECK_INT(wrong, 0);
    }
    free(bytes);
}

static void all_hear_all(void) {
    struct error err = {0};
    char mine[13], *all = x_calloc((size_t)comm->size, sizeof mine);
    snprintf(mine, sizeof mine, "I am %d", comm->rank);
    CHECK_OK(comm_gather(comm, mine, sizeof mine, all, &err), &err);
    for (int rank = 0; rank < comm->size; rank++) {
        char wanted[24];
        snprintf(wanted, sizeof wanted, "I am %d", rank);
        CHECK_STR(all + (size_t)rank * sizeof mine, wanted);
    }
    free(all);
}

/* Every rank names the first fact that differs, and goes on. */
static void who_differs_is_named(void) {
    struct error err = {0};
    char wanted[256];
    const char *digest = comm->rank == comm->size - 1 ? "beef" : "cafe";
    int result = comm_agree(comm, "the list of samples", digest, &err);
    snprintf(wanted, sizeof wanted,
             "the list of samples differs: \"beef\" on rank %d, \"cafe\" on rank 0; all ranks have "
             "to be started alike",
             comm->size - 1);
    CHECK_INT(result, comm->size == 1 ? 0 : -1);
    CHECK_STR(err.text, comm->size == 1 ? "" : wanted);
    error_clear(&err);
    result = comm_agree(comm, comm->rank == comm->size - 1 ? "b" : "a", "", &err);
    CHECK_INT(result, comm->size == 1 ? 0 : -1);
    CHECK(comm->size == 1 || err.kind == ERROR_INVALID);
    error_clear(&err);
    CHECK_OK(comm_agree(comm, "the seed", "42", &err), &err);
    CHECK(!atomic_load(&comm->is_lost));
}

/* No rank leaves before the last has come. (All ranks share the machine's clock.) */
static void a_barrier_waits_for_the_last(void) {
    struct error err = {0};
    int last = comm->size - 1;
    int64_t mine[2], *all = x_calloc((size_t)comm->size, sizeof mine); /* times: came, left */
    if (comm->rank == last) {
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    }
    mine[0] = clock_monotonic_ns();
    CHECK_OK(comm_barrier(comm, &err), &err);
    mine[1] = clock_monotonic_ns();
    CHECK_OK(comm_gather(comm, mine, sizeof mine, all, &err), &err);
    for (int rank = 0; rank < comm->size; rank++) {
        CHECK(all[2 * rank + 1] >= all[2 * last]);
    }
    free(all);
}

static int step(struct reducer *reducer, const struct buckets *buckets, float *values, int number,
                struct error *err) {
    size_t order[64];
    for (size_t i = 0; i < buckets->count; i++) {
        uint64_t draw = mixed((uint64_t)(comm->rank * 1000 + number) << 20 | i);
        size_t other = draw % (i + 1);
        order[i] = order[other];
        order[other] = i;
    }
    for (size_t i = 0; i < buckets->count; i++) {
        const struct bucket *of = &buckets->all[order[i]]; /* filled now, not earlier */
        for (size_t k = of->start / 4; k < (of->start + of->bytes) / 4; k++) {
            values[k] = (float)((k + (size_t)(comm->rank * 31 + number)) % 509);
        }
        reducer_due(reducer, order[i]);
    }
    for (size_t i = 0; i < buckets->count; i++) {
        size_t bucket = SIZE_MAX;
        if (reducer_wait(reducer, &bucket, err) < 0) {
            return -1;
        }
        CHECK_INT(bucket, i);
        const struct bucket *of = &buckets->all[bucket];
        size_t wrong = 0;
        for (size_t k = of->start / 4; k < (of->start + of->bytes) / 4; k++) {
            float wanted = 0;
            for (int rank = 0; rank < comm->size; rank++) {
                wanted += (float)((k + (size_t)(rank * 31 + number)) % 509);
            }
            wrong += values[k] != wanted;
        }
        CHECK_INT(wrong, 0);
    }
    return 0;
}

/* Other bucket sizes each time; each rank marks them due in another order. */
static void order_is_kept_however_buckets_are_due(void) {
    uint64_t seed = test_seed(15);
    int rounds = (int)test_rounds(8);
    if (comm->rank == 0) {
        printf("# SOAK_SEED=%llu, %d rounds\n", (unsigned long long)seed, rounds);
    }
    for (int round = 0; round < rounds && !test_failures; round++) {
        size_t bytes[64], count = 1 + mixed(seed + (uint64_t)round) % 64;
        int ready_after_step[64];
        for (size_t i = 0; i < count; i++) {
            bytes[i] = 4 * (1 + mixed(seed ^ (uint64_t)(round * 64) ^ i) % 30000);
            ready_after_step[i] = (int)i;
        }
        struct buckets buckets;
        struct error err = {0};
        buckets_plan(bytes, ready_after_step, count, 200000, &buckets);
        float *values = x_calloc(1, buckets.bytes);
        struct reducer *reducer = NULL;
        CHECK_OK(reducer_open(comm, &buckets, values, 60000, &reducer, &err), &err);
        for (int i = 0; i < 5; i++) {
            CHECK_OK(step(reducer, &buckets, values, i, &err), &err);
        }
        if (atomic_load(&comm->is_lost)) {
            return; /* memory is still in use */
        }
        reducer_close(reducer);
        free(values);
        buckets_release(&buckets);
    }
}

static void kinds_are_known_by_name(void) {
    struct error err = {0};
    struct comm *other = NULL;
    CHECK(comm_open("pigeons", &other, &err) < 0 && !other);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK_STR(err.text, "comm \"pigeons\" is unknown; single, mpi or nccl is expected");
    error_clear(&err);
    CHECK_OK(comm_open("single", &other, &err), &err);
    CHECK_INT(other->size, 1);
    CHECK_INT(other->rank, 0);
    comm_close(other);
}

/* As TEST, but only rank 0 prints "ok". */
#define RUN(function)                                                                              \
    do {                                                                                           \
        test_failures = 0;                                                                         \
        test_skip_reason[0] = 0;                                                                   \
        function();                                                                                \
        if (test_failures) {                                                                       \
            printf("not ok " #function ", rank %d of %d\n", comm->rank, comm->size);               \
        } else if (comm->rank == 0) {                                                              \
            printf("ok " #function ", %s of %d\n", comm->name, comm->size);                        \
        }                                                                                          \
        fflush(stdout);                                                                            \
        test_failures_total += test_failures;                                                      \
    } while (0)

int main(int argc, char **argv) {
    struct error err = {0};
    if (comm_open(argc > 1 ? argv[1] : NULL, &comm, &err) < 0) {
        printf("not ok comm_open: %s\n", err.text);
        return 1;
    }
    RUN(kinds_are_known_by_name);
    RUN(sums_have_the_same_bits_everywhere);
    RUN(sums_on_devices_are_right);
    RUN(rank_zero_tells_all);
    RUN(all_hear_all);
    RUN(who_differs_is_named);
    RUN(a_barrier_waits_for_the_last);
    RUN(order_is_kept_however_buckets_are_due);
    if (atomic_load(&comm->is_lost)) {
        fflush(stdout);
        _exit(1);
    }
    comm_close(comm);
    return TEST_END();
}
