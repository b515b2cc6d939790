// SPDX-License-Identifier: Apache-2.0
#include "agent/train/rate.h"

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

int rate_read(const json_t *schedule, const struct rate_options *options, struct rate *ret_rate,
              struct error *err) {
    static const char *const kinds[] = {"Constant", "Step", "Cosine", NULL};
    static const char *const scalings[] = {"None", "Linear", NULL};
    struct rate rate = {.full = options->learning_rate,
                        .total_steps = options->epoch_steps * options->epochs};
    int kind, scaling;
    int64_t warmup, base;
    if (fields_choice(schedule, "kind", kinds, RATE_CONSTANT, &kind, err) < 0 ||
        fields_choice(schedule, "scaling", scalings, 0, &scaling, err) < 0 ||
        fields_integer(schedule, "warmupEpochs", (int64_t[]){0, EPOCHS_MAX}, 0, &warmup, err) < 0 ||
        fields_integer(schedule, "baseBatchSize", (int64_t[]){1, 1 << 20}, 256, &base, err) < 0 ||
        fields_number(schedule, "stepFactor", (double[]){0, 1}, 0.1, &rate.factor, err) < 0) {
        return error_context(err, "schedule");
    }
    rate.kind = (enum rate_kind)kind;
    rate.warmup_steps = warmup * options->epoch_steps;
    if (rate.kind == RATE_STEP && read_falls(schedule, options, &rate, err) < 0) {
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

double rate_at(const struct rate *rate, int64_t step) {
    step = MIN(step, rate->total_steps - 1);
    if (step < rate->warmup_steps) {
        return rate->full * (double)(step + 1) / (double)rate->warmup_steps;
    }
    double value = rate->full;
    for (size_t i = 0; i < rate->count && step >= rate->fall_steps[i]; i++) {
        value *= rate->factor;
    }
    if (rate->kind == RATE_COSINE) {
        double done =
            (double)(step - rate->warmup_steps) / (double)(rate->total_steps - rate->warmup_steps);
        value *= (1 + cos(M_PI * done)) / 2;
    }
    return value;
}
