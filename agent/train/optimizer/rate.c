// SPDX-License-Identifier: Apache-2.0
#include "agent/train/optimizer/rate.h"

#include "agent/train/dataset/fields.h"

#include <math.h>

static int read_falls(const json_t *schedule, const struct rate_options *options, struct rate *rate,
                      struct error *err) {
    const json_t *epochs;
    if (fields_array(schedule, "stepEpochs", RATE_STEPS_MAX, &epochs, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < json_array_size(epochs); i++) {
        const json_t *item = json_array_get(epochs, i);
        int64_t epoch = json_integer_value(item), step = epoch * options->epoch_steps;
        bool rises = rate->count == 0 || step > rate->fall_steps[rate->count - 1];
        if (!json_is_integer(item) || epoch < 1 || epoch > EPOCHS_MAX || !rises) {
            return error_set(err, ERROR_INVALID,
                             "stepEpochs: rising epochs from 1 to %d are "
                             "expected",
                             EPOCHS_MAX);
        }
        rate->fall_steps[rate->count++] = step;
    }
    return 0;
}

/* Fields that may be absent, and those of one kind. */
static int read_more(const json_t *schedule, const struct rate_options *options, struct rate *rate,
                     struct error *err) {
    int64_t epochs = 0;
    rate->restart_factor = 1;
    if ((json_object_get(schedule, "endFactor") &&
         fields_number(schedule, "endFactor", &rate->end, err) < 0) ||
        (json_object_get(schedule, "restartFactor") &&
         fields_integer(schedule, "restartFactor", (int64_t[]){1, RESTART_FACTOR_MAX},
                        &rate->restart_factor, err) < 0)) {
        return -1;
    }
    if (rate->kind == RATE_RESTARTS &&
        fields_integer(schedule, "restartEpochs", (int64_t[]){1, EPOCHS_MAX}, &epochs, err) < 0) {
        return -1;
    }
    rate->restart_steps = epochs * options->epoch_steps;
    if (rate->kind == RATE_ONE_CYCLE && rate->warmup_steps > 0) {
        return error_set(err, ERROR_INVALID,
                         "warmupEpochs: 0 is expected with OneCycle, whose rate rises at first");
    }
    return 0;
}

int rate_read(const json_t *schedule, const struct rate_options *options, struct rate *ret_rate,
              struct error *err) {
    static const char *const kinds[] = {"Constant",       "Step",     "Cosine", "Linear",
                                        "CosineRestarts", "OneCycle", NULL};
    static const char *const scalings[] = {"None", "Linear", NULL};
    struct rate rate = {.full = options->learning_rate,
                        .total_steps = options->epoch_steps * options->epochs};
    int kind, scaling;
    int64_t warmup, base;
    if (fields_choice(schedule, "kind", kinds, &kind, err) < 0 ||
        fields_choice(schedule, "scaling", scalings, &scaling, err) < 0 ||
        fields_integer(schedule, "warmupEpochs", (int64_t[]){0, EPOCHS_MAX}, &warmup, err) < 0 ||
        fields_integer(schedule, "baseBatchSize", (int64_t[]){1, BATCH_MAX}, &base, err) < 0 ||
        fields_number(schedule, "stepFactor", &rate.factor, err) < 0) {
        return error_context(err, "schedule");
    }
    rate.kind = (enum rate_kind)kind;
    rate.warmup_steps = warmup * options->epoch_steps;
    if ((rate.kind == RATE_STEP && read_falls(schedule, options, &rate, err) < 0) ||
        read_more(schedule, options, &rate, err) < 0) {
        return error_context(err, "schedule");
    }
    if (warmup && rate.warmup_steps >= rate.total_steps) {
        return error_set(err, ERROR_INVALID,
                         "schedule.warmupEpochs: less than the %lld epochs are expected",
                         (long long)options->epochs);
    }
    rate.full *= scaling ? (double)options->batch_size / (double)base : 1;
    *ret_rate = rate;
    return 0;
}

/* From 1 to `end` along half a cosine; done: 0 to 1. */
static double half_cosine(double end, double done) {
    return end + (1 - end) * (1 + cos(M_PI * done)) / 2;
}

/* How much of its period is done. */
static double restart_done(const struct rate *rate, int64_t step) {
    int64_t period = rate->restart_steps;
    while (step >= period) {
        step -= period;
        period *= rate->restart_factor;
    }
    return (double)step / (double)period;
}

static double one_cycle(const struct rate *rate, int64_t step) {
    static const double rise = 0.3, start = 1 / 25.0, end = 1 / 25.0 / 1e4;
    double top = rise * (double)rate->total_steps - 1, last = (double)rate->total_steps - 1;
    if ((double)step < top) {
        return half_cosine(start, 1 - (double)step / top);
    }
    return half_cosine(end, ((double)step - top) / (last - top));
}

double rate_at(const struct rate *rate, int64_t step) {
    step = MIN(step, rate->total_steps - 1);
    if (step < rate->warmup_steps) {
        return rate->full * (double)(step + 1) / (double)rate->warmup_steps;
    }
    double value = rate->full;
    for (size_t i = 0; i < rate->count && step >= rate->fall_steps[i]; i++) {
        value *= rate->factor;
    }
    int64_t after = step - rate->warmup_steps;
    double done = (double)after / (double)(rate->total_steps - rate->warmup_steps);
    switch (rate->kind) {
    case RATE_COSINE:
        return value * half_cosine(rate->end, done);
    case RATE_LINEAR:
        return value * (1 + (rate->end - 1) * done);
    case RATE_RESTARTS:
        return value * half_cosine(rate->end, restart_done(rate, after));
    case RATE_ONE_CYCLE:
        return value * one_cycle(rate, step);
    default:
        return value;
    }
}
