// SPDX-License-Identifier: Apache-2.0
/* Orders are bijections, all about equally likely, and those of one epoch, sample or draw do not
 * correlate with another's. */
#include "agent/train/dataset/order.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>

static bool is_bijection(uint64_t seed, int64_t epoch, int64_t count) {
    AUTO(text_freep) char *seen = x_calloc((size_t)count, 1);
    for (int64_t place = 0; place < count; place++) {
        int64_t sample = order_place(seed, epoch, count, place);
        if (sample < 0 || sample >= count || seen[sample]++) {
            return false;
        }
    }
    return true;
}

static void test_every_order_is_a_bijection(void) {
    uint64_t seed = test_seed(1);
    for (int64_t count = 1; count <= 300; count++) {
        CHECK(is_bijection(seed, count % 7, count));
    }
    static const int64_t counts[] = {1023, 1024, 1025, 4095, 4097, 60000, 65536, 65537, 200003};
    for (int64_t round = 0; round < test_rounds(1); round++) {
        for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
            if (!is_bijection(seed + (uint64_t)round, round, counts[i])) {
                printf("# SOAK_SEED=%llu count %lld\n", (unsigned long long)seed + (unsigned)round,
                       (long long)counts[i]);
                test_failures++;
            }
        }
    }
}

/* Chi-square over all count! orders; 6 deviations of a chi-square of that many degrees. */
static void check_orders_of(int count, int permutations) {
    enum { SEEDS_EACH = 100, PERMUTATIONS_MAX = 120 };
    int seen[PERMUTATIONS_MAX] = {0}, draws = SEEDS_EACH * permutations;
    for (int draw = 0; draw < draws; draw++) {
        uint64_t seed = test_seed(1) + (uint64_t)(draw / 10);
        int number = 0; /* Lehmer code */
        int64_t order[5];
        for (int i = 0; i < count; i++) {
            order[i] = order_place(seed, draw % 10, count, i);
        }
        for (int i = 0; i < count; i++) {
            int smaller = 0;
            for (int k = i + 1; k < count; k++) {
                smaller += order[k] < order[i];
            }
            number = number * (count - i) + smaller;
        }
        seen[number]++;
    }
    double chi = 0;
    for (int i = 0; i < permutations; i++) {
        chi += (seen[i] - (double)SEEDS_EACH) * (seen[i] - SEEDS_EACH) / SEEDS_EACH;
    }
    double degrees = permutations - 1;
    if (fabs(chi - degrees) > 6 * sqrt(2 * degrees)) {
        printf("# %d items: chi-square %g of %g degrees\n", count, chi, degrees);
        test_failures++;
    }
}

static void test_all_orders_are_equally_likely(void) {
    check_orders_of(3, 6);
    check_orders_of(4, 24);
    check_orders_of(5, 120);
}

static void test_epochs_and_seeds_differ(void) {
    enum { COUNT = 10000 };
    int same_epoch = 0, same_seed = 0, stays = 0, next = 0;
    for (int64_t place = 0; place < COUNT; place++) {
        int64_t sample = order_place(1, 0, COUNT, place);
        same_epoch += order_place(1, 1, COUNT, place) == sample;
        same_seed += order_place(2, 0, COUNT, place) == sample;
        stays += sample == place;
        next += place + 1 < COUNT && order_place(1, 0, COUNT, place + 1) == sample + 1;
    }
    CHECK(same_epoch < 12 && same_seed < 12 && stays < 12 && next < 12); /* 1 is expected */
}

static void test_chance_is_even_and_independent(void) {
    enum { DRAWS = 100000, CELLS = 10 };
    int cells[CELLS] = {0}, pairs[CELLS * CELLS] = {0};
    double sum = 0;
    for (int64_t i = 0; i < DRAWS; i++) {
        uint64_t bits = philox_bits(test_seed(1), 3, i, 0),
                 other = philox_bits(test_seed(1), 3, i, 1);
        double unit = philox_unit(bits);
        CHECK(unit >= 0 && unit < 1);
        sum += unit;
        cells[philox_below(bits, CELLS)]++;
        pairs[philox_below(bits, CELLS) * CELLS + philox_below(other, CELLS)]++;
    }
    CHECK(fabs(sum / DRAWS - 0.5) < 6 * sqrt(1.0 / 12 / DRAWS));
    double chi = 0, pairs_chi = 0;
    for (int i = 0; i < CELLS; i++) {
        chi += pow(cells[i] - DRAWS / (double)CELLS, 2) / (DRAWS / (double)CELLS);
    }
    for (int i = 0; i < CELLS * CELLS; i++) {
        pairs_chi += pow(pairs[i] - DRAWS / 100.0, 2) / (DRAWS / 100.0);
    }
    CHECK(chi < 9 + 6 * sqrt(18));
    CHECK(pairs_chi < 99 + 6 * sqrt(198));
    CHECK(philox_below(UINT64_MAX, 7) == 6 && philox_below(0, 7) == 0);
}

/* Orders that checkpoints of an earlier build rely on. Calculated by another program, in Python,
 * which gives the answer of the authors of Philox for a counter and a key of 0 (6627e8d5 e169c58d
 * ...). */
static void test_what_was_promised(void) {
    CHECK_INT(order_place(42, 0, 60000, 0), 4412);
    CHECK_INT(order_place(42, 9, 60000, 59999), 1612);
    CHECK_INT(philox_bits(42, 3, 59999, 2) >> 40, 12327161);
}

static void test_batches_and_slices_cover_everything_once(void) {
    for (int64_t count = 1; count < 40; count++) {
        for (int64_t batch_size = 1; batch_size < 45; batch_size += 3) {
            int64_t at = 0, steps = order_steps(count, batch_size);
            for (int64_t step = 5 * steps; step < 6 * steps; step++) {
                struct order_batch batch = order_find_batch(count, batch_size, step);
                CHECK(batch.epoch == 5 && batch.first == at && batch.count >= 1);
                at += batch.count;
            }
            CHECK_INT(at, count);
        }
        for (int size = 1; size < 10; size++) {
            int64_t at = 0;
            for (int rank = 0; rank < size; rank++) {
                struct order_slice slice = order_find_slice(count, rank, size);
                CHECK(slice.first == at && slice.count >= count / size &&
                      slice.count <= count / size + 1);
                at += slice.count;
            }
            CHECK_INT(at, count);
        }
    }
}

int main(void) {
    TEST(test_every_order_is_a_bijection);
    TEST(test_all_orders_are_equally_likely);
    TEST(test_epochs_and_seeds_differ);
    TEST(test_chance_is_even_and_independent);
    TEST(test_what_was_promised);
    TEST(test_batches_and_slices_cover_everything_once);
    return TEST_END();
}
