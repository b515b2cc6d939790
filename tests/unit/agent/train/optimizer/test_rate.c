// SPDX-License-Identifier: Apache-2.0
#include "agent/train/optimizer/rate.h"
#include "tests/agent_defaults.h"
#include "tests/test.h"

#include <math.h>

/* 10 epochs of 5 steps, batches of 512. */
static int read(const char *schedule, struct rate *rate, struct error *err) {
    static const struct rate_options options = {
        .learning_rate = 0.2, .batch_size = 512, .epoch_steps = 5, .epochs = 10};
    json_t *object = json_loads(schedule, 0, NULL);
    fill_part("crds/disttrain.yaml", "spec.trainer.schedule", object);
    int result = rate_read(object, &options, rate, err);
    json_decref(object);
    return result;
}

static void test_each_kind_says_what_it_says(void) {
    static const struct {
        const char *schedule;
        int64_t step;
        double wanted;
    } rows[] = {
        {"{}", 0, 0.2},
        {"{}", 49, 0.2},
        {"{\"scaling\": \"Linear\", \"baseBatchSize\": 256}", 7, 0.4},
        {"{\"scaling\": \"Linear\", \"baseBatchSize\": 2048}", 7, 0.05},
        {"{\"warmupEpochs\": 2}", 0, 0.02},
        {"{\"warmupEpochs\": 2}", 8, 0.18},
        {"{\"warmupEpochs\": 2}", 9, 0.2},
        {"{\"warmupEpochs\": 2}", 10, 0.2},
        {"{\"kind\": \"Step\", \"stepEpochs\": [3, 6]}", 14, 0.2},
        {"{\"kind\": \"Step\", \"stepEpochs\": [3, 6]}", 15, 0.02},
        {"{\"kind\": \"Step\", \"stepEpochs\": [3, 6], \"stepFactor\": \"0.5\"}", 30, 0.05},
        {"{\"kind\": \"Cosine\"}", 0, 0.2},
        {"{\"kind\": \"Cosine\"}", 25, 0.1},
        {"{\"kind\": \"Cosine\"}", 49, 0.2 * (1 + -0.99802672842827156) / 2}, /* cos(0.98 pi) */
        {"{\"kind\": \"Cosine\"}", 1000, 0.2 * (1 + -0.99802672842827156) / 2},
        {"{\"kind\": \"Cosine\", \"warmupEpochs\": 2}", 30, 0.1},
        {"{\"kind\": \"Cosine\", \"warmupEpochs\": 2, \"scaling\": \"Linear\"}", 20,
         0.4 * (1 + 0.70710678118654752) / 2},
        {"{\"kind\": \"Cosine\", \"endFactor\": \"0.5\"}", 25, 0.15},
        {"{\"kind\": \"Linear\"}", 0, 0.2},
        {"{\"kind\": \"Linear\"}", 25, 0.1},
        {"{\"kind\": \"Linear\", \"endFactor\": \"0.1\", \"warmupEpochs\": 2}", 30, 0.11},
        {"{\"kind\": \"CosineRestarts\", \"restartEpochs\": 2}", 5, 0.1},
        {"{\"kind\": \"CosineRestarts\", \"restartEpochs\": 2}", 10, 0.2},
        {"{\"kind\": \"CosineRestarts\", \"restartEpochs\": 2, \"restartFactor\": 2}", 20, 0.1},
        {"{\"kind\": \"CosineRestarts\", \"restartEpochs\": 2, \"restartFactor\": 2}", 30, 0.2},
        {"{\"kind\": \"CosineRestarts\", \"restartEpochs\": 2, \"restartFactor\": 2, "
         "\"endFactor\": \"0.5\", \"warmupEpochs\": 1}",
         10, 0.15},
        /* torch.optim.lr_scheduler.OneCycleLR(max_lr=0.2, total_steps=50) */
        {"{\"kind\": \"OneCycle\"}", 0, 0.008},
        {"{\"kind\": \"OneCycle\"}", 7, 0.104},
        {"{\"kind\": \"OneCycle\"}", 14, 0.2},
        {"{\"kind\": \"OneCycle\"}", 30, 0.11342367288845923},
        {"{\"kind\": \"OneCycle\"}", 49, 8e-7},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct rate rate = {0};
        CHECK_OK(read(rows[i].schedule, &rate, &err), &err);
        double seen = rate_at(&rate, rows[i].step);
        if (fabs(seen - rows[i].wanted) > 1e-12) {
            printf("# %s step %lld: %.15g, wanted %.15g\n", rows[i].schedule,
                   (long long)rows[i].step, seen, rows[i].wanted);
            test_failures++;
        }
    }
}

static void test_what_is_wrong_is_named(void) {
    static const char *const rows[][2] = {
        {"{\"kind\": \"Line\"}",
         "schedule: kind: one of Constant, Step, Cosine, Linear, CosineRestarts, OneCycle is"},
        {"{\"kind\": \"Step\"}", "schedule: stepEpochs: a list of 1 to 32 items"},
        {"{\"kind\": \"Step\", \"stepEpochs\": [3, 3]}", "schedule: stepEpochs: rising epochs"},
        {"{\"kind\": \"Step\", \"stepEpochs\": [0]}", "schedule: stepEpochs: rising epochs"},
        {"{\"warmupEpochs\": 10}", "schedule.warmupEpochs: less than the 10 epochs"},
        {"{\"kind\": \"CosineRestarts\"}", "schedule: restartEpochs: an integer from 1"},
        {"{\"kind\": \"CosineRestarts\", \"restartEpochs\": 1, \"restartFactor\": 17}",
         "schedule: restartFactor: an integer from 1 to 16"},
        {"{\"kind\": \"OneCycle\", \"warmupEpochs\": 1}", "schedule: warmupEpochs: 0 is expected"},
        {"{\"endFactor\": \"x\"}", "schedule: endFactor: a number is expected"},
        {"{\"warmupEpochs\": -1}", "schedule: warmupEpochs: an integer from 0"},
        {"{\"stepFactor\": []}", "schedule: stepFactor: a number is"},
        {"{\"stepFactor\": \"nan\"}", "schedule: stepFactor: a number is expected"},
        {"{\"stepFactor\": \"0.1x\"}", "schedule: stepFactor: a number is expected"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct rate rate;
        CHECK_INT(read(rows[i][0], &rate, &err), -1);
        CHECK(strstr(err.text, rows[i][1]) || (printf("# %s\n", err.text), 0));
    }
}

/* The agent has no defaults: a field that is missing is named. */
static void test_a_missing_field_is_named(void) {
    static const char *const names[] = {"kind", "scaling", "warmupEpochs", "baseBatchSize",
                                        "stepFactor"};
    static const struct rate_options options = {0.2, 512, 5, 10};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct error err = {0};
        struct rate rate;
        json_t *object = json_object();
        fill_part("crds/disttrain.yaml", "spec.trainer.schedule", object);
        AUTO(text_freep) char *wanted = x_printf("schedule: %s: ", names[i]);
        CHECK_INT(json_object_del(object, names[i]), 0);
        CHECK_INT(rate_read(object, &options, &rate, &err), -1);
        CHECK(strstr(err.text, wanted) && strstr(err.text, "expected"));
        json_decref(object);
    }
}

int main(void) {
    TEST(test_each_kind_says_what_it_says);
    TEST(test_what_is_wrong_is_named);
    TEST(test_a_missing_field_is_named);
    return TEST_END();
}
