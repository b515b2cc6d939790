// SPDX-License-Identifier: Apache-2.0
/* Every gang size, number of threads and first step gives the same batches, to the byte; how far
 * ahead the loader goes; how it fails and ends. SOAK_SEED, SOAK_ROUNDS. */
#include "agent/train/dataset/loader.h"
#include "agent/train/dataset/order.h"
#include "tests/seed.h"
#include "tests/unit/agent/data/fixtures.h"
#include "tests/unit/agent/train/dataset/sets.h"

#include <poll.h>

enum { ELEMENTS = 3 * 6 * 7 };

static struct dataset *open_synthetic(int64_t count) {
    AUTO(text_freep)
    char *text = x_printf(
        "{\"synthetic\": {\"count\": %lld, \"classes\": 4, \"shape\": [3, 6, 7], \"seed\": 9}}",
        (long long)count);
    return must_open(text, NULL);
}

static struct augment full_augment(const struct dataset *dataset) {
    struct augment augment;
    struct error err = {0};
    json_t *object = json_loads("{\"flip\": true, \"pad\": 1}", 0, NULL);
    CHECK_OK(augment_read(object, NULL, dataset, &augment, &err), &err);
    json_decref(object);
    return augment;
}

/* The sample at a position, without a loader. */
static void check_sample(const struct loader_options *options, const struct batch *batch,
                         int64_t at, int64_t place) {
    struct error err = {0};
    float wanted[ELEMENTS];
    AUTO(sample_release) struct sample sample = {0};
    struct dataset *dataset = options->dataset;
    int64_t index = options->is_training
                        ? order_place(options->seed, batch->epoch, dataset->count, place)
                        : place;
    struct augment_draw draw = {options->is_training, options->seed, batch->epoch, index};
    CHECK_OK(dataset_read(dataset, index, &sample, &err), &err);
    augment_fill(options->augment, &sample, &draw, wanted);
    CHECK(batch->indices[at] == index && batch->labels[at] == sample.label);
    CHECK(memcmp(batch->samples + at * ELEMENTS, wanted, sizeof wanted) == 0);
}

/* The batches of all ranks and steps, one rank after the other. */
static void check_gang(struct loader_options options) {
    struct error err = {0};
    for (options.rank = 0; options.rank < options.size && !test_failures; options.rank++) {
        struct loader *loader = NULL;
        const struct batch *batch = NULL;
        CHECK_OK(loader_open(&options, &loader, &err), &err);
        for (int64_t step = options.first_step; step < options.end_step; step++) {
            struct order_batch whole =
                order_batch(options.dataset->count, options.batch_size, step);
            struct order_slice slice = order_slice(whole.count, options.rank, options.size);
            CHECK_INT(loader_take(loader, &batch, &err), 1);
            CHECK(batch->step == step && batch->epoch == whole.epoch &&
                  batch->count == slice.count && batch->total == whole.count);
            for (int64_t i = 0; i < batch->count && !test_failures; i++) {
                check_sample(&options, batch, i, whole.first + slice.first + i);
            }
        }
        CHECK_INT(loader_take(loader, &batch, &err), 0);
        CHECK_INT(loader_take(loader, &batch, &err), 0);
        loader_close(loader);
    }
}

static void test_batches_are_the_same_for_everybody(void) {
    uint64_t state = test_seed(1);
    int rounds = (int)test_rounds(40);
    for (int round = 0; round < rounds && !test_failures; round++) {
        uint64_t began = state, bits[6];
        for (int i = 0; i < 6; i++) {
            bits[i] = philox_bits(state, round, i, 0);
        }
        AUTO(dataset_closep)
        struct dataset *dataset = open_synthetic(1 + philox_below(bits[0], 60));
        struct augment augment = full_augment(dataset);
        struct loader_options options = {.dataset = dataset,
                                         .augment = &augment,
                                         .is_training = philox_below(bits[1], 4) > 0,
                                         .seed = bits[1],
                                         .batch_size = 1 + philox_below(bits[2], 30),
                                         .size = 1 + (int)philox_below(bits[3], 5),
                                         .threads = 1 + (int)philox_below(bits[4], 4)};
        int64_t steps = order_steps(dataset->count, options.batch_size);
        options.first_step = options.is_training ? philox_below(bits[5], 2 * steps) : 0;
        options.end_step = options.is_training ? options.first_step + 2 * steps + 1 : steps;
        check_gang(options);
        if (test_failures) {
            printf("# SOAK_SEED=%llu, round %d\n", (unsigned long long)began, round);
        }
    }
}

static void test_it_goes_four_batches_ahead_and_waits(void) {
    enum { BATCH = 10, STEPS = 30 };
    struct error err = {0};
    AUTO(dataset_closep) struct dataset *dataset = open_synthetic(BATCH * STEPS);
    struct augment augment = full_augment(dataset);
    struct loader_options options = {.dataset = dataset, .augment = &augment, .is_training = true};
    options.batch_size = BATCH;
    options.size = 1;
    options.threads = 3;
    options.end_step = STEPS;
    AUTO(loader_closep) struct loader *loader = NULL;
    const struct batch *batch;
    CHECK_OK(loader_open(&options, &loader, &err), &err);
    for (int step = 0; step < STEPS; step++) {
        int64_t ahead = MIN((step ? step - 1 : 0) + LOADER_RING, STEPS) * BATCH;
        for (int i = 0; i < 10000 && loader_made(loader) < ahead; i++) {
            poll(NULL, 0, 1);
        }
        poll(NULL, 0, 2);
        CHECK_INT(loader_made(loader), ahead); /* the whole ring, and no more */
        int64_t before_ns = loader_waited_ns(loader);
        CHECK_INT(loader_take(loader, &batch, &err), 1);
        CHECK(loader_waited_ns(loader) >= before_ns);
    }
}

static void test_waiting_is_counted(void) {
    struct error err = {0};
    AUTO(dataset_closep)
    struct dataset *dataset = must_open("{\"synthetic\": {\"count\": 8, \"classes\": 4, "
                                        "\"shape\": [3, 500, 500]}}",
                                        NULL);
    struct augment augment = full_augment(dataset);
    struct loader_options options = {.dataset = dataset, .augment = &augment, .is_training = true};
    options.batch_size = 8;
    options.size = options.threads = 1;
    options.end_step = 1;
    AUTO(loader_closep) struct loader *loader = NULL;
    const struct batch *batch;
    CHECK_OK(loader_open(&options, &loader, &err), &err);
    CHECK_INT(loader_take(loader, &batch, &err), 1);
    CHECK(loader_waited_ns(loader) > 1000000); /* 8 x 750,000 numbers take more than 1 ms */
}

static void test_a_sample_that_cannot_be_read_ends_it(void) {
    struct error err = {0};
    AUTO(text_freep)
    char *line = x_printf("cd %s && /usr/bin/python3 -c \"\n"
                          "import numpy as n\n"
                          "n.save('x.npy', n.zeros((40, 3, 6, 7), 'u1'))\n"
                          "n.save('y.npy', n.arange(40))\n\"",
                          fixtures_out);
    CHECK_INT(system(line), 0);
    struct dataset_options none = {.memory_bytes = 1};
    AUTO(dataset_closep)
    struct dataset *dataset =
        must_open("{\"tensors\": {\"samples\": \"out/x.npy\", \"labels\": \"out/y.npy\"}}", &none);
    AUTO(text_freep) char *path = x_printf("%s/x.npy", fixtures_out);
    CHECK_INT(truncate(path, 1000), 0);
    struct augment augment = full_augment(dataset);
    struct loader_options options = {.dataset = dataset, .augment = &augment, .is_training = true};
    options.batch_size = 7;
    options.size = 1;
    options.threads = 2;
    options.end_step = 100;
    AUTO(loader_closep) struct loader *loader = NULL;
    const struct batch *batch;
    CHECK_OK(loader_open(&options, &loader, &err), &err);
    CHECK_INT(loader_take(loader, &batch, &err), -1);
    CHECK(strstr(err.text, "out/x.npy"));
    err = (struct error){0};
    CHECK_INT(loader_take(loader, &batch, &err), -1); /* and again */
}

static void test_it_may_end_at_any_moment(void) {
    struct error err = {0};
    AUTO(dataset_closep) struct dataset *dataset = open_synthetic(1000);
    struct augment augment = full_augment(dataset);
    for (int i = 0; i < 60; i++) {
        struct loader_options options = {.dataset = dataset, .augment = &augment};
        options.batch_size = 1 + i;
        options.size = 1 + i % 3;
        options.threads = 1 + i % 4;
        options.end_step = 10;
        struct loader *loader = NULL;
        const struct batch *batch;
        CHECK_OK(loader_open(&options, &loader, &err), &err);
        for (int k = 0; k < i % 6; k++) {
            CHECK_INT(loader_take(loader, &batch, &err), 1);
        }
        loader_close(loader);
    }
    struct loader_options huge = {.dataset = dataset, .augment = &augment};
    AUTO(dataset_closep) struct dataset *large = open_synthetic(1 << 28);
    huge.dataset = large;
    huge.batch_size = 1 << 28;
    huge.size = huge.threads = 1;
    struct loader *loader = NULL;
    CHECK_INT(loader_open(&huge, &loader, &err), -1);
    CHECK(err.kind == ERROR_EXHAUSTED && strstr(err.text, "batchSize 268435456"));
}

int main(void) {
    fixtures_start("loader");
    TEST(test_batches_are_the_same_for_everybody);
    TEST(test_it_goes_four_batches_ahead_and_waits);
    TEST(test_waiting_is_counted);
    TEST(test_a_sample_that_cannot_be_read_ends_it);
    TEST(test_it_may_end_at_any_moment);
    return TEST_END();
}
