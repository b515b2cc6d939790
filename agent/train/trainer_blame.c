// SPDX-License-Identifier: Apache-2.0
#include "agent/train/trainer_blame.h"

#include "agent/engine/loss.h"
#include "agent/train/trainer_inputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct blame {
    struct trainer *trainer;
    const struct dataset *dataset;
    const struct batch *batch;
    struct order_slice part;
};

static int name_sample(const struct blame *blame, int64_t at, const char *why, struct error *err) {
    char name[DATASET_NAME_MAX];
    dataset_describe(blame->dataset, blame->batch->indices[at], name);
    return error_set(err, ERROR_INVALID, "data.%s: %s: %s",
                     blame->dataset == blame->trainer->train ? "train" : "test", name, why);
}

static bool is_bad(const struct blame *blame, int64_t at) {
    return blame->batch->is_bad && blame->batch->is_bad[at];
}

/* ---- labels --------------------------------------------------------------------------------- */

/* Classes, for one sample of a head; 0: its loss has none. */
static int64_t classes_of(const struct blame *blame, size_t head) {
    struct trainer *trainer = blame->trainer;
    struct error ignored = {0};
    struct label_places places;
    struct tensor target = trainer_head_target(trainer, head);
    struct shape scores =
        training_scores(trainer->prepared[0].training, trainer->graph.losses[head].loss).shape;
    if (trainer->heads[head].criterion.loss == TRAINING_CTC) {
        return scores.rank == 3 ? scores.dims[2] : 0;
    }
    target.shape.dims[0] = scores.rank ? scores.dims[0] : 0;
    return target.type == TENSOR_INT64 &&
                   loss_places(&scores, &target.shape, &places, &ignored) == 0
               ? places.classes
               : 0;
}

static int check_label(const struct blame *blame, size_t head, int64_t at, int64_t label,
                       struct error *err) {
    const struct criterion *criterion = &blame->trainer->heads[head].criterion;
    int64_t classes = classes_of(blame, head);
    bool is_blank = criterion->loss == TRAINING_CTC && label == criterion->blank;
    char why[160];
    if (classes == 0 || label == blame->dataset->ignored ||
        (label >= 0 && label < classes && !is_blank)) {
        return 0;
    }
    if (is_blank) {
        snprintf(why, sizeof why, "label %lld is the blank (loss.blankLabel)", (long long)label);
    } else {
        snprintf(why, sizeof why,
                 "label %lld, and the network has %lld classes: 0 to %lld are classes",
                 (long long)label, (long long)classes, (long long)classes - 1);
    }
    return name_sample(blame, at, why, err);
}

static int check_labels(const struct blame *blame, size_t head, struct error *err) {
    struct tensor target = trainer_head_target(blame->trainer, head);
    target.shape.dims[0] = 1;
    int64_t places = shape_count(&target.shape);
    const int64_t *labels = trainer_head_data(blame->trainer, head, blame->batch);
    for (int64_t i = 0; target.type == TENSOR_INT64 && i < blame->part.count * places; i++) {
        int64_t at = blame->part.first + i / places;
        if (!is_bad(blame, at) &&
            check_label(blame, head, at, labels[blame->part.first * places + i], err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- samples -------------------------------------------------------------------------------- */

/* Without the numbers, which are those of the first of several bad samples. */
static bool is_same_node(const char *a, const char *b) {
    size_t length = strcspn(a, ":");
    return length > 0 && strcspn(b, ":") == length && memcmp(a, b, length) == 0;
}

static struct training *open_alone(const struct blame *blame) {
    struct trainer *trainer = blame->trainer;
    struct error ignored = {0};
    struct training *training = NULL;
    bool *is_bound = x_calloc(trainer->evaluation.output_count + 1, sizeof *is_bound);
    trainer_set_inputs(trainer, blame->batch, (struct order_slice){blame->part.first, 1},
                       trainer->evaluation_inputs);
    if (training_open(trainer->device, &trainer->evaluation, trainer->evaluation_inputs, is_bound,
                      &training, &ignored) < 0) {
        training = NULL; /* a network of another batch size */
    }
    for (size_t i = 0; training && i < trainer->graph.variable_count; i++) {
        training_bind_input(training, trainer->network->input_count + i, trainer->results[i]);
    }
    free(is_bound);
    return training;
}

/* Runs each sample alone, until one fails at the same node. */
static int check_samples(const struct blame *blame, const char *text, struct error *err) {
    struct trainer *trainer = blame->trainer;
    struct training *training = open_alone(blame);
    int result = 0;
    for (int64_t i = 0; training && result == 0 && i < blame->part.count; i++) {
        int64_t at = blame->part.first + i;
        struct error cause = {0};
        trainer_set_inputs(trainer, blame->batch, (struct order_slice){at, 1},
                           trainer->evaluation_inputs);
        bool fails =
            !is_bad(blame, at) && training_run(training, trainer->evaluation_inputs,
                                               trainer->evaluation_outputs, NULL, &cause) < 0;
        result =
            fails && is_same_node(cause.text, text) ? name_sample(blame, at, cause.text, err) : 0;
    }
    training_free(training);
    return result;
}

int trainer_blame(struct trainer *trainer, const struct dataset *dataset, const struct batch *batch,
                  struct order_slice part, struct error *err) {
    const struct blame blame = {trainer, dataset, batch, part};
    const struct error cause = *err;
    if (cause.kind != ERROR_INVALID || part.count == 0) {
        return -1;
    }
    *err = (struct error){0};
    for (size_t i = 0; i < trainer->head_count; i++) {
        if (check_labels(&blame, i, err) < 0) {
            return trainer->heads[i].name
                       ? error_context(err, "output \"%.64s\"", trainer->heads[i].name)
                       : -1;
        }
    }
    if (check_samples(&blame, cause.text, err) < 0) {
        return -1;
    }
    return error_set(err, ERROR_INVALID, "data.%s, among the samples from number %lld on: %s",
                     dataset == trainer->train ? "train" : "test",
                     (long long)batch->indices[part.first], cause.text);
}
