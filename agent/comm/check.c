// SPDX-License-Identifier: Apache-2.0
#include "agent/comm/check.h"

#include "agent/comm/reducer.h"
#include "lib/digest.h"
#include "lib/time/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    GRADIENT_BYTES = 1 << 18, /* of each synthetic gradient */
    HALF_PERIOD = 1019,
    PERIOD = 2039, /* of the integers; a prime, so that misplaced parts are detected */
    STRIDE = 101,  /* between the random numbers that are added again in double precision */
};

/* What each rank found, gathered. */
struct verdict {
    double seconds;
    uint32_t crc;
    char wrong[120]; /* "": no error */
};

struct check {
    struct comm *comm;
    const struct check_options *options;
    struct buckets buckets;
    struct reducer *reducer;
    float *values;
    size_t count;
    struct verdict mine, *all; /* [comm->size] */
};

/* ---- numbers -------------------------------------------------------------------------------- */

static float whole_number(int rank, size_t i) {
    return (float)((i + (size_t)rank * 17) % PERIOD) - HALF_PERIOD;
}

/* Of either sign and many magnitudes, so that the order of addition matters. */
static float random_number(int rank, size_t i) {
    uint64_t x = ((uint64_t)rank << 40) + i + 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    x ^= x >> 31;
    return ldexpf((float)(int32_t)(x >> 32), (int)(x % 24) - 40);
}

static void wrong(struct check *check, const char *what, size_t i, double wanted) {
    if (!check->mine.wrong[0]) {
        snprintf(check->mine.wrong, sizeof check->mine.wrong,
                 "%s: number %zu of %zu is %.9g, expected %.9g", what, i, check->count,
                 (double)check->values[i], wanted);
    }
}

/* Sums up to 2^24 are exact in any order: more than 8,000 ranks. */
static void compare_whole(struct check *check) {
    float wanted[PERIOD] = {0};
    for (size_t i = 0; i < PERIOD; i++) {
        for (int rank = 0; rank < check->comm->size; rank++) {
            wanted[i] += whole_number(rank, i);
        }
    }
    for (size_t i = 0; i < check->count; i++) {
        if (check->values[i] != wanted[i % PERIOD]) {
            wrong(check, "whole numbers", i, (double)wanted[i % PERIOD]);
            return;
        }
    }
}

static void compare_random(struct check *check) {
    for (size_t i = 0; i < check->count; i += STRIDE) {
        double sum = 0, sizes = 0;
        for (int rank = 0; rank < check->comm->size; rank++) {
            double x = (double)random_number(rank, i);
            sum += x;
            sizes += fabs(x);
        }
        /* Each addition rounds once. */
        if (!(fabs((double)check->values[i] - sum) <= sizes * check->comm->size * 0x1p-24)) {
            wrong(check, "random numbers", i, sum);
            return;
        }
    }
    check->mine.crc = digest_crc32c(0, check->values, check->count * sizeof(float));
}

static void compare_ones(struct check *check) {
    for (size_t i = 0; i < check->count; i++) {
        if (check->values[i] != (float)check->comm->size) {
            wrong(check, "ones", i, (double)check->comm->size);
            return;
        }
    }
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* The communication of one training step. */
static int add_up(struct check *check, struct error *err) {
    for (size_t i = 0; i < check->buckets.count; i++) {
        reducer_due(check->reducer, i);
    }
    for (size_t i = 0; i < check->buckets.count; i++) {
        size_t bucket;
        if (reducer_wait(check->reducer, &bucket, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Used as the reducer's ops if the options have one. */
static int sum_otherwise(struct comm *comm, void *context, size_t bucket, struct error *err) {
    struct check *check = context;
    const struct bucket *of = &check->buckets.all[bucket];
    return check->options->sum(comm, check->options->context,
                               check->values + of->start / sizeof(float), of->bytes / sizeof(float),
                               err);
}

static int agree_on_options(struct comm *comm, void *context, struct error *err) {
    const struct check *check = context;
    const struct check_options *options = check->options;
    const struct {
        const char *name;
        int64_t value;
    } rows[] = {{"--megabytes", options->megabytes},
                {"--fusion", options->fusion_mib},
                {"--rounds", options->rounds}};
    char text[65];
    if (comm_agree(comm, "the version of windlass-trainer", WINDLASS_VERSION, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        snprintf(text, sizeof text, "%lld", (long long)rows[i].value);
        if (comm_agree(comm, rows[i].name, text, err) < 0) {
            return -1;
        }
    }
    buckets_digest(&check->buckets, text);
    return comm_agree(comm, "the plan of buckets", text, err);
}

static int gather_hosts(struct comm *comm, void *context, struct error *err) {
    struct check_result *result = context;
    char mine[CHECK_HOST_MAX] = "";
    gethostname(mine, sizeof mine - 1);
    result->hosts = x_calloc((size_t)comm->size, sizeof *result->hosts);
    return comm_gather(comm, mine, sizeof mine, result->hosts, err);
}

static int gather_verdicts(struct comm *comm, void *context, struct error *err) {
    struct check *check = context;
    return comm_gather(comm, &check->mine, sizeof check->mine, check->all, err);
}

static int call_barrier(struct comm *comm, void *context UNUSED, struct error *err) {
    return comm_barrier(comm, err);
}

/* All ranks report the first rank that found an error. */
static int compare_verdicts(struct check *check, struct error *err) {
    if (reducer_call(check->reducer, gather_verdicts, check, err) < 0) {
        return -1;
    }
    for (int rank = 0; rank < check->comm->size; rank++) {
        const struct verdict *verdict = &check->all[rank];
        if (verdict->wrong[0]) {
            return error_set(err, ERROR_FAILED, "the sum is wrong on rank %d: %s", rank,
                             verdict->wrong);
        }
        if (verdict->crc != check->all[0].crc) {
            return error_set(err, ERROR_FAILED,
                             "the sum of the same numbers has other bits on rank %d (CRC-32C "
                             "%08x) than on rank 0 (%08x): ranks would drift apart",
                             rank, verdict->crc, check->all[0].crc);
        }
    }
    return 0;
}

static int prove(struct check *check, struct error *err) {
    for (size_t i = 0; i < check->count; i++) {
        check->values[i] = whole_number(check->comm->rank, i);
    }
    if (add_up(check, err) < 0) {
        return -1;
    }
    compare_whole(check);
    for (size_t i = 0; i < check->count; i++) {
        check->values[i] = random_number(check->comm->rank, i);
    }
    if (add_up(check, err) < 0) {
        return -1;
    }
    compare_random(check);
    return compare_verdicts(check, err);
}

static int time_round(struct check *check, double *ret_seconds, struct error *err) {
    for (size_t i = 0; i < check->count; i++) {
        check->values[i] = 1;
    }
    if (reducer_call(check->reducer, call_barrier, NULL, err) < 0) {
        return -1;
    }
    int64_t start_ns = clock_monotonic_ns();
    if (add_up(check, err) < 0) {
        return -1;
    }
    check->mine.seconds = (double)(clock_monotonic_ns() - start_ns) / 1e9;
    compare_ones(check);
    if (compare_verdicts(check, err) < 0) {
        return -1;
    }
    double most = 0;
    for (int rank = 0; rank < check->comm->size; rank++) {
        most = MAX(most, check->all[rank].seconds);
    }
    *ret_seconds = most;
    return 0;
}

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static int measure(struct check *check, struct check_result *result, struct error *err) {
    size_t rounds = (size_t)check->options->rounds;
    double *seconds = x_calloc(rounds, sizeof *seconds);
    for (size_t i = 0; i < rounds; i++) {
        if (time_round(check, &seconds[i], err) < 0) {
            free(seconds);
            return -1;
        }
    }
    qsort(seconds, rounds, sizeof *seconds, by_value);
    result->least_ms = seconds[0] * 1e3;
    result->median_ms = seconds[rounds / 2] * 1e3;
    result->most_ms = seconds[rounds - 1] * 1e3;
    free(seconds);
    return 0;
}

/* Plans gradients of one size, one per step. */
static void plan(struct check *check) {
    size_t bytes = (size_t)check->options->megabytes * 1000000;
    size_t count = (bytes + GRADIENT_BYTES - 1) / GRADIENT_BYTES;
    size_t *sizes = x_calloc(count, sizeof *sizes);
    int *ready_after_step = x_calloc(count, sizeof *ready_after_step);
    for (size_t i = 0; i < count; i++) {
        sizes[i] = MIN((size_t)GRADIENT_BYTES, bytes - i * GRADIENT_BYTES);
        ready_after_step[i] = (int)i;
    }
    buckets_plan(sizes, ready_after_step, count, (size_t)check->options->fusion_mib << 20,
                 &check->buckets);
    free(sizes);
    free(ready_after_step);
    check->count = check->buckets.bytes / sizeof(float);
    check->values = x_calloc(check->count, sizeof *check->values);
}

static int run(struct check *check, struct check_result *result, struct error *err) {
    struct reducer *reducer = check->reducer;
    if (reducer_call(reducer, agree_on_options, check, err) < 0 ||
        reducer_call(reducer, gather_hosts, result, err) < 0 || prove(check, err) < 0) {
        return -1;
    }
    return measure(check, result, err);
}

int check_run(struct comm *comm, const struct check_options *options, struct check_result *ret,
              struct error *err) {
    struct check check = {.comm = comm, .options = options};
    struct check_result result = {0};
    plan(&check);
    check.all = x_calloc((size_t)comm->size, sizeof *check.all);
    int code =
        reducer_open(comm, &check.buckets, check.values, options->timeout_ms, &check.reducer, err);
    if (code == 0 && options->sum) {
        reducer_set_ops(check.reducer,
                        &(struct reducer_ops){.sum = sum_otherwise, .context = &check});
    }
    code = code < 0 ? -1 : run(&check, &result, err);
    if (atomic_load(&comm->is_lost)) {
        return -1; /* the reducer may still use all of it */
    }
    reducer_close(check.reducer);
    result.crc = check.mine.crc;
    result.bucket_count = check.buckets.count;
    result.last_bytes = check.buckets.all[check.buckets.count - 1].bytes;
    buckets_release(&check.buckets);
    free(check.values);
    free(check.all);
    if (code < 0) {
        free(result.hosts);
        return -1;
    }
    *ret = result;
    return 0;
}
