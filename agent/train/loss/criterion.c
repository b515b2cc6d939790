// SPDX-License-Identifier: Apache-2.0
#include "agent/train/loss/criterion.h"

#include "agent/train/dataset/fields.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { CLASS_WEIGHTS_MAX = 100000 };

static int read_weights(const json_t *spec, struct criterion *settings, struct error *err) {
    const json_t *list;
    if (fields_array(spec, "classWeights", CLASS_WEIGHTS_MAX, &list, err) < 0) {
        return -1;
    }
    settings->class_count = json_array_size(list);
    settings->class_weights = x_calloc(settings->class_count, sizeof *settings->class_weights);
    double sum = 0;
    for (size_t i = 0; i < settings->class_count; i++) {
        double weight = 0;
        json_t *one = json_pack("{s:O}", "weight", json_array_get(list, i));
        int result = fields_number(one, "weight", &weight, err);
        json_decref(one);
        if (result < 0 || !(weight >= 0)) {
            return error_set(err, ERROR_INVALID, "classWeights: item %zu: a number from 0 on", i);
        }
        settings->class_weights[i] = (float)weight;
        sum += weight;
    }
    return sum > 0 ? 0 : error_set(err, ERROR_INVALID, "classWeights: all are 0");
}

/* A field that would do nothing. */
static int check_belongs(const json_t *spec, const char *field, bool belongs, const char *losses,
                         struct error *err) {
    return belongs || !json_object_get(spec, field)
               ? 0
               : error_set(err, ERROR_INVALID, "%s: belongs to loss: %s", field, losses);
}

static int read_fields(const json_t *spec, struct criterion *settings, struct error *err) {
    bool is_entropy = settings->loss == TRAINING_CROSS_ENTROPY;
    bool is_ctc = settings->loss == TRAINING_CTC;
    double smoothing;
    if (check_belongs(spec, "classWeights", is_entropy, "CrossEntropy", err) < 0 ||
        check_belongs(spec, "blankLabel", is_ctc, "CTC", err) < 0 ||
        fields_number(spec, "labelSmoothing", &smoothing, err) < 0 ||
        (json_object_get(spec, "classWeights") && read_weights(spec, settings, err) < 0)) {
        return -1;
    }
    settings->smoothing = (float)smoothing;
    return json_object_get(spec, "blankLabel")
               ? fields_integer(spec, "blankLabel", (int64_t[]){0, INT32_MAX}, &settings->blank,
                                err)
               : 0; /* 0, as in PyTorch */
}

int criterion_read(const json_t *spec, struct criterion *ret_settings, struct error *err) {
    static const char *const losses[] = {"CrossEntropy", "MeanSquared", "BinaryCrossEntropy",
                                         "Huber",        "CTC",         NULL};
    static_assert(ARRAY_LEN(losses) == TRAINING_LOSS_COUNT + 1, "one name per loss");
    struct criterion settings = {.blank = 0};
    int loss;
    if (fields_choice(spec, "loss", losses, &loss, err) < 0) {
        return -1;
    }
    settings.loss = (enum training_loss)loss;
    if (read_fields(spec, &settings, err) < 0) {
        criterion_release(&settings);
        return -1;
    }
    *ret_settings = settings;
    return 0;
}

void criterion_release(struct criterion *settings) {
    free(settings->class_weights);
    settings->class_weights = NULL;
}

bool criterion_weighs(const struct criterion *settings) {
    return settings->loss == TRAINING_CTC || settings->class_weights;
}

struct criterion_count criterion_count_batch(const struct criterion *settings,
                                             const struct criterion_labels *labels) {
    struct criterion_count sum = {0, 0};
    if (!settings->class_weights) {
        return (struct criterion_count){(double)labels->samples, (double)labels->samples};
    }
    for (int64_t i = 0; i < labels->samples * labels->places; i++) {
        int64_t label = labels->labels[i];
        bool counts = label >= 0 && label < (int64_t)settings->class_count &&
                      !(labels->has_ignored && label == labels->ignored);
        sum.weight += counts ? (double)settings->class_weights[label] : 0;
        sum.places += counts;
    }
    return sum;
}
