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
    fill_part("crds/disttrain.yaml", "spec.trainer.data.augment", object);
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
    CHECK(memcmp((const float *)batch->samples + at * ELEMENTS, wanted, sizeof wanted) == 0);
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
                order_find_batch(options.dataset->count, options.batch_size, step);
            struct order_slice slice = order_find_slice(whole.count, options.rank, options.size);
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
        for (int i = 0; i < 60000 && loader_made(loader) < ahead; i++) {
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

/* ---- bad samples ---------------------------------------------------------------------------- */

enum { BAD_COUNT = 60, BAD_NUMBERS = 5 };

/* Samples 7, 20 and 41 have numbers that are NaN or infinite; the first number of sample i is i. */
static struct dataset *open_with_bad(void) {
    AUTO(text_freep)
    char *line = x_printf("cd %s && /usr/bin/python3 -c \"\n"
                          "import numpy as n\n"
                          "x = n.zeros((%d, %d), 'f4'); x[:, 0] = n.arange(%d)\n"
                          "x[7, 3], x[20, 4], x[41, 1] = n.nan, n.inf, -n.inf\n"
                          "n.save('badx.npy', x)\n"
                          "n.save('bady.npy', n.arange(%d) %% 3)\n\"",
                          fixtures_out, BAD_COUNT, BAD_NUMBERS, BAD_COUNT, BAD_COUNT);
    CHECK_INT(system(line), 0);
    return must_open("{\"tensors\": {\"samples\": \"out/badx.npy\", \"labels\": \"out/bady.npy\"}}",
                     NULL);
}

struct notes {
    int count;
    char last[1024];
};

static void note(void *context, const char *line) {
    struct notes *notes = context;
    notes->count++;
    snprintf(notes->last, sizeof notes->last, "%s", line);
}

/* One epoch's samples by place, as all ranks of a gang of `size` have them; returns the bad. */
static int64_t read_epoch(struct loader_options options, int64_t *ret_indices) {
    struct error err = {0};
    int64_t steps = order_steps(BAD_COUNT, options.batch_size), bad = 0;
    for (options.rank = 0; options.rank < options.size; options.rank++) {
        AUTO(loader_closep) struct loader *loader = NULL;
        const struct batch *batch;
        options.end_step = options.first_step / steps * steps + steps;
        CHECK_OK(loader_open(&options, &loader, &err), &err);
        int more;
        while ((more = loader_take(loader, &batch, &err)) > 0) {
            struct order_batch whole = order_find_batch(BAD_COUNT, options.batch_size, batch->step);
            struct order_slice slice = order_find_slice(whole.count, options.rank, options.size);
            CHECK_INT(batch->count, slice.count);
            bad += batch->bad;
            for (int64_t i = 0; i < batch->count; i++) {
                const float *sample = (const float *)batch->samples + i * BAD_NUMBERS;
                bool is_none = batch->is_bad && batch->is_bad[i];
                CHECK(is_none || (sample[0] == (float)batch->indices[i] &&
                                  batch->labels[i] == batch->indices[i] % 3));
                ret_indices[whole.first + slice.first + i] =
                    is_none ? -1 - batch->indices[i] : batch->indices[i];
            }
        }
        CHECK_OK(more, &err);
    }
    return bad;
}

static bool is_bad_index(int64_t index) {
    return index == 7 || index == 20 || index == 41;
}

static void test_bad_samples_are_replaced_alike_for_everybody(void) {
    AUTO(dataset_closep) struct dataset *dataset = open_with_bad();
    struct augment augment;
    struct error err = {0};
    struct notes notes = {0};
    const struct bad_samples_policy policy = {true, 3};
    struct bad_samples *bad = bad_samples_new(&policy, "data.train", BAD_COUNT, note, &notes);
    CHECK_OK(augment_read(NULL, NULL, dataset, &augment, &err), &err);
    for (int64_t epoch = 0; epoch < 3; epoch++) {
        int64_t first[BAD_COUNT], other[BAD_COUNT];
        for (int size = 1; size <= 5; size++) {
            struct loader_options options = {.dataset = dataset,
                                             .augment = &augment,
                                             .is_training = true,
                                             .seed = 5,
                                             .batch_size = 7,
                                             .size = size,
                                             .threads = 1 + size % 3,
                                             .bad = bad};
            options.first_step = epoch * order_steps(BAD_COUNT, 7);
            memset(other, 0xff, sizeof other);
            /* Every bad sample is met once an epoch, by one of the ranks. */
            CHECK_INT(read_epoch(options, other), 3);
            for (int64_t place = 0; place < BAD_COUNT; place++) {
                int64_t own = order_place(5, epoch, BAD_COUNT, place);
                CHECK(other[place] >= 0 && !is_bad_index(other[place]));
                CHECK(is_bad_index(own) || other[place] == own);
            }
            memcpy(size == 1 ? first : other, other, sizeof other);
            CHECK(memcmp(first, other, sizeof other) == 0);
        }
        /* From the middle of the epoch: as a training that resumes. */
        struct loader_options options = {.dataset = dataset,
                                         .augment = &augment,
                                         .is_training = true,
                                         .seed = 5,
                                         .batch_size = 7,
                                         .size = 2,
                                         .threads = 2,
                                         .bad = bad};
        options.first_step = epoch * order_steps(BAD_COUNT, 7) + 4;
        read_epoch(options, other);
        CHECK(memcmp(first + 28, other + 28, sizeof other - 28 * sizeof *other) == 0);
    }
    CHECK_INT(notes.count, 3); /* each is named once */
    CHECK(strstr(notes.last, "data.train: bad sample: out/badx.npy, labels out/bady.npy: sample "));
    CHECK_OK(bad_samples_check(bad, 3, &err), &err);
    CHECK(!bad_samples_has_ended(bad));
    CHECK_INT(bad_samples_check(bad, 4, &err), -1);
    CHECK(err.kind == ERROR_INVALID && bad_samples_has_ended(bad));
    CHECK(strstr(err.text, "data.train: 4 bad samples, more than data.maxBadSamples (3)"));
    bad_samples_free(bad);
}

static void test_bad_samples_to_evaluate_with_do_not_count(void) {
    AUTO(dataset_closep) struct dataset *dataset = open_with_bad();
    struct augment augment;
    struct error err = {0};
    struct notes notes = {0};
    const struct bad_samples_policy policy = {true, 3};
    struct bad_samples *bad = bad_samples_new(&policy, "data.test", BAD_COUNT, note, &notes);
    int64_t indices[BAD_COUNT];
    CHECK_OK(augment_read(NULL, NULL, dataset, &augment, &err), &err);
    struct loader_options options = {
        .dataset = dataset, .augment = &augment, .batch_size = 9, .size = 2, .threads = 3};
    options.bad = bad;
    CHECK_INT(read_epoch(options, indices), 3);
    for (int64_t i = 0; i < BAD_COUNT; i++) {
        CHECK_INT(indices[i], is_bad_index(i) ? -1 - i : i);
    }
    bad_samples_free(bad);
}

static void test_without_skip_a_bad_sample_ends_it_by_name(void) {
    AUTO(dataset_closep) struct dataset *dataset = open_with_bad();
    struct augment augment;
    struct error err = {0};
    const struct bad_samples_policy policy = {false, 3};
    struct bad_samples *bad = bad_samples_new(&policy, "data.train", BAD_COUNT, note, NULL);
    CHECK_OK(augment_read(NULL, NULL, dataset, &augment, &err), &err);
    struct loader_options options = {.dataset = dataset, .augment = &augment, .batch_size = 10};
    options.size = options.threads = 1;
    options.end_step = 6;
    options.bad = bad;
    AUTO(loader_closep) struct loader *loader = NULL;
    const struct batch *batch;
    CHECK_OK(loader_open(&options, &loader, &err), &err);
    CHECK_INT(loader_take(loader, &batch, &err), -1);
    CHECK(err.kind == ERROR_INVALID && bad_samples_has_ended(bad));
    CHECK(strstr(err.text, "out/badx.npy, labels out/bady.npy: sample 7: element 3 is nan"));
    loader_close(TAKE(loader)); /* its threads read ahead */
    bad_samples_free(bad);
    dataset->takes_any_number = true; /* a network that looks for NaN itself */
    AUTO(sample_release) struct sample sample = {0};
    CHECK_OK(dataset_read(dataset, 7, &sample, &err), &err);
}

/* Of the only output, and of a further one. */
static void test_shares_are_from_0_to_1(void) {
    static const char *const specs[] = {
        "{\"tensors\": {\"samples\": \"out/badx.npy\", \"labels\": \"out/shares.npy\"}}",
        "{\"tensors\": {\"samples\": \"out/badx.npy\", \"outputs\": [{\"name\": \"a\", \"path\": "
        "\"out/bady.npy\"}, {\"name\": \"b\", \"path\": \"out/shares.npy\"}]}}"};
    static const char *const says[] = {"sample 2: target 1 is 1.5; BinaryCrossEntropy",
                                       "sample 2: target of output \"b\", element 1 is 1.5; Bin"};
    AUTO(text_freep)
    char *line =
        x_printf("cd %s && /usr/bin/python3 -c \"\n"
                 "import numpy as n\n"
                 "y = n.full((%d, 2), 0.5, 'f8'); y[0], y[2, 1], y[3, 0] = (0, 1), 1.5, -1\n"
                 "n.save('shares.npy', y)\n\"",
                 fixtures_out, BAD_COUNT);
    CHECK_INT(system(line), 0);
    for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
        AUTO(dataset_closep) struct dataset *dataset = must_open(specs[i], NULL);
        AUTO(sample_release) struct sample sample = {0};
        struct error err = {0};
        CHECK_OK(dataset_read(dataset, 2, &sample, &err), &err); /* of another loss */
        dataset->has_shares = i == 0;
        for (size_t k = 0; k < dataset->extra_count; k++) {
            dataset->extras[k].is_share = true;
        }
        CHECK_OK(dataset_read(dataset, 0, &sample, &err), &err);
        CHECK_INT(dataset_read(dataset, 2, &sample, &err), -1);
        CHECK(err.kind == ERROR_INVALID && strstr(err.text, says[i]));
        dataset->takes_any_number = true; /* of samples, not of these */
        CHECK_INT(dataset_read(dataset, 3, &sample, &(struct error){0}), -1);
    }
}

/* More bad samples than good ones; and none that is good. */
/* The loader is ahead of the step that is computed, which may end the training in another way. */
static void test_a_bad_sample_ends_nothing_before_its_step(void) {
    AUTO(dataset_closep) struct dataset *dataset = open_with_bad();
    struct augment augment;
    struct error err = {0};
    const struct bad_samples_policy policy = {false, 3};
    CHECK_OK(augment_read(NULL, NULL, dataset, &augment, &err), &err);
    for (int takes = 0; takes < 2; takes++) {
        struct bad_samples *bad = bad_samples_new(&policy, "data.test", BAD_COUNT, note, NULL);
        struct loader_options options = {.dataset = dataset, .augment = &augment, .batch_size = 4};
        options.size = options.threads = 1;
        options.end_step = 3;
        options.bad = bad;
        struct loader *loader = NULL;
        const struct batch *batch;
        CHECK_OK(loader_open(&options, &loader, &err), &err);
        /* Sample 7 ends step 1; when those of step 2 are made, it has been met. */
        for (int i = 0; i < 60000 && loader_made(loader) < 4 + 3 + 4; i++) {
            poll(NULL, 0, 1);
        }
        CHECK_INT(loader_made(loader), 4 + 3 + 4);
        CHECK(!bad_samples_has_ended(bad));
        if (takes) {
            CHECK_INT(loader_take(loader, &batch, &err), 1);
            CHECK(!bad_samples_has_ended(bad));
            CHECK_INT(loader_take(loader, &batch, &err), -1);
        }
        loader_close(loader);
        CHECK(bad_samples_has_ended(bad) == takes);
        bad_samples_free(bad);
    }
}

static void test_substitutes_are_searched_for_with_a_bound(void) {
    AUTO(text_freep)
    char *line =
        x_printf("cd %s && /usr/bin/python3 -c \"\n"
                 "import numpy as n\n"
                 "x = n.full((40, 5), n.nan, 'f4'); n.save('nox.npy', x)\n"
                 "x[3] = 1; n.save('onex.npy', x); n.save('oney.npy', n.arange(40) %% 3)\n\"",
                 fixtures_out);
    CHECK_INT(system(line), 0);
    for (int good = 0; good < 2; good++) {
        AUTO(dataset_closep)
        struct dataset *dataset = must_open(
            good ? "{\"tensors\": {\"samples\": \"out/onex.npy\", \"labels\": \"out/oney.npy\"}}"
                 : "{\"tensors\": {\"samples\": \"out/nox.npy\", \"labels\": \"out/oney.npy\"}}",
            NULL);
        struct augment augment;
        struct error err = {0};
        struct notes notes = {0};
        const struct bad_samples_policy policy = {true, 1000};
        struct bad_samples *bad = bad_samples_new(&policy, "data.train", 40, note, &notes);
        CHECK_OK(augment_read(NULL, NULL, dataset, &augment, &err), &err);
        struct loader_options options = {.dataset = dataset, .augment = &augment, .batch_size = 8};
        options.is_training = true;
        options.size = 1;
        options.threads = 2;
        options.end_step = 5;
        options.bad = bad;
        struct loader *loader = NULL;
        const struct batch *batch;
        CHECK_OK(loader_open(&options, &loader, &err), &err);
        int more = loader_take(loader, &batch, &err);
        CHECK_INT(more, good ? 1 : -1);
        CHECK(good || strstr(err.text, "1000 samples in a row are bad"));
        for (int64_t i = 0; more == 1 && i < batch->count; i++) {
            CHECK_INT(batch->indices[i], 3);
        }
        loader_close(loader);
        bad_samples_free(bad);
    }
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
    TEST(test_bad_samples_are_replaced_alike_for_everybody);
    TEST(test_bad_samples_to_evaluate_with_do_not_count);
    TEST(test_without_skip_a_bad_sample_ends_it_by_name);
    TEST(test_shares_are_from_0_to_1);
    TEST(test_a_bad_sample_ends_nothing_before_its_step);
    TEST(test_substitutes_are_searched_for_with_a_bound);
    TEST(test_it_may_end_at_any_moment);
    return TEST_END();
}
