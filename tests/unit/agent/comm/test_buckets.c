// SPDX-License-Identifier: Apache-2.0
/* The plan of buckets: properties for any sizes, and the plan for ResNet-50. SOAK_SEED and
 * SOAK_ROUNDS choose the made-up ones. */
#include "agent/comm/buckets.h"

#include "tests/resnet50.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <stdlib.h>

static const size_t mib = 1 << 20;

static size_t rounded(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/* Each gradient is in one bucket, whole, after those that are made before it, and overlaps no
 * other; buckets cover the memory without gaps and are due when their last gradient is made. */
static void check_places(const size_t *bytes, const int *ready_after_step, size_t count,
                         const struct buckets *plan) {
    size_t *filled = calloc(plan->count + 1, sizeof *filled), at = 0;
    int *last = calloc(plan->count + 1, sizeof *last);
    for (size_t i = 0; i < count; i++) {
        const struct bucket_place *place = &plan->places[i];
        const struct bucket *bucket = &plan->all[place->bucket];
        CHECK(place->bucket < plan->count && place->start % 64 == 0);
        CHECK(place->start >= bucket->start);
        CHECK(place->start + bytes[i] <= bucket->start + bucket->bytes);
        filled[place->bucket] += rounded(bytes[i]);
        last[place->bucket] = MAX(last[place->bucket], ready_after_step[i]);
        for (size_t k = 0; k < i; k++) {
            bool is_before = ready_after_step[k] <= ready_after_step[i];
            size_t before = is_before ? k : i, behind = is_before ? i : k;
            CHECK(plan->places[before].start + rounded(bytes[before]) <=
                  plan->places[behind].start);
        }
    }
    for (size_t i = 0; i < plan->count; i++) {
        CHECK_INT(plan->all[i].start, at);
        CHECK_INT(plan->all[i].bytes, filled[i]); /* no overlap, no waste */
        CHECK_INT(plan->all[i].ready_after_step, last[i]);
        at += plan->all[i].bytes;
    }
    CHECK_INT(plan->bytes, at);
    free(filled);
    free(last);
}

/* Half of the rest, between 1 MiB and max; if the next gradient does not fit, as many gradients as
 * fits. */
static void check_sizes(const size_t *bytes, size_t count, size_t max, const struct buckets *plan) {
    for (size_t i = 0; i < plan->count; i++) {
        const struct bucket *bucket = &plan->all[i];
        size_t left = plan->bytes - bucket->start, end = bucket->start + bucket->bytes;
        size_t first = SIZE_MAX, last = 0, next_bytes = 0;
        for (size_t k = 0; k < count; k++) {
            const struct bucket_place *place = &plan->places[k];
            first = place->start == bucket->start ? rounded(bytes[k]) : first;
            last = place->start + rounded(bytes[k]) == end ? rounded(bytes[k]) : last;
            next_bytes = place->start == end ? rounded(bytes[k]) : next_bytes;
        }
        CHECK(bucket->bytes <= max || bucket->bytes == first); /* a single gradient */
        size_t wanted = left / 2 < mib ? left : left / 2;
        wanted = MIN(wanted, max);
        CHECK(bucket->bytes >= wanted || bucket->bytes + next_bytes > max);
        CHECK(bucket->bytes - last < wanted); /* and no more gradients than that needs */
    }
}

static void any_sizes(void) {
    uint64_t state = test_seed(15);
    int64_t rounds = test_rounds(300);
    printf("# SOAK_SEED=%llu, %lld rounds\n", (unsigned long long)state, (long long)rounds);
    for (int64_t round = 0; round < rounds && !test_failures; round++) {
        size_t count = test_random(&state) % 120, bytes[120];
        int ready_after_step[120];
        size_t max = 1 + test_random(&state) % (test_random(&state) % 2 ? 64 * mib : 3 * mib);
        int steps = 1 + (int)(test_random(&state) % 200);
        for (size_t i = 0; i < count; i++) {
            bytes[i] = 4 * (1 + (test_random(&state) >> (test_random(&state) % 24 + 40)));
            ready_after_step[i] = (int)(test_random(&state) % (uint64_t)steps);
        }
        struct buckets plan, again;
        char digest[65], digest_again[65];
        buckets_plan(bytes, ready_after_step, count, max, &plan);
        check_places(bytes, ready_after_step, count, &plan);
        check_sizes(bytes, count, max, &plan);
        buckets_plan(bytes, ready_after_step, count, max, &again);
        buckets_digest(&plan, digest);
        buckets_digest(&again, digest_again);
        CHECK_STR(digest_again, digest);
        buckets_release(&again);
        if (count) {
            bytes[test_random(&state) % count] += 64;
            buckets_plan(bytes, ready_after_step, count, max, &again);
            buckets_digest(&again, digest_again);
            CHECK(strcmp(digest_again, digest) != 0);
            buckets_release(&again);
        }
        buckets_release(&plan);
    }
}

static void resnet50_halves(void) {
    struct resnet50 net;
    size_t values = 0;
    resnet50_init(&net);
    for (size_t i = 0; i < net.count; i++) {
        values += net.bytes[i] / sizeof(float);
    }
    CHECK_INT(values, 25557032); /* the published size of ResNet-50 */
    struct buckets plan;
    buckets_plan(net.bytes, net.ready_after_step, net.count, 64 * mib, &plan);
    static const size_t megabytes[] = {51, 26, 13, 6, 3, 2, 1};
    printf("#");
    for (size_t i = 0; i < plan.count; i++) {
        printf(" %.1f", (double)plan.all[i].bytes / 1e6);
    }
    printf(" MB\n");
    CHECK(plan.count >= 5 && plan.count <= ARRAY_LEN(megabytes));
    CHECK(plan.all[0].bytes >= 51000000 && plan.all[0].bytes < 61000000);
    CHECK(plan.all[plan.count - 1].bytes <= 2 * mib);
    CHECK_INT(plan.places[0].bucket, plan.count - 1); /* the first layer's is made last */
    buckets_release(&plan);
}

int main(void) {
    TEST(any_sizes);
    TEST(resnet50_halves);
    return TEST_END();
}
