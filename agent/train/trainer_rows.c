// SPDX-License-Identifier: Apache-2.0
/* Rows of the result do not depend on the other rows of their batch. A few samples are run
 * together, each of them alone, and each of them in a batch of copies of the first one. */
#include "agent/train/trainer_rows.h"
#include "agent/train/trainer_inputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 4, INPUTS_MAX = 1 + SAMPLE_EXTRAS_MAX };

/* Of the largest number of the two rows. Kernels that differ by the batch's size round differently
 * (1e-5 at most in the networks of tests/e2e/train/forms.py; TF32 has 10 bits); statistics of a
 * batch differ by 1e-1. */
static const double host_bound = 1e-3, device_bound = 2e-2;

struct rows {
    struct trainer *trainer;
    int64_t count; /* of the samples */
    size_t inputs;
    size_t sample_bytes[INPUTS_MAX];
    char *samples[INPUTS_MAX]; /* [count] */
    float *together;           /* [count, width]: outputs */
    int64_t width;
};

/* The outputs of a sample in one row. */
static int join_outputs(const struct trainer *trainer, int64_t count, float **ret_outputs,
                        int64_t *ret_width, struct error *err) {
    int64_t width = 0, at = 0;
    for (size_t i = 0; i < trainer->head_count; i++) {
        const struct tensor *output = &trainer->evaluation_outputs[i];
        if (output->type != TENSOR_FLOAT32 || shape_count(&output->shape) % count) {
            char shape[128];
            shape_format(&output->shape, shape);
            return error_set(err, ERROR_INVALID, "the network's output is %s for %lld samples",
                             shape, (long long)count);
        }
        width += shape_count(&output->shape) / count;
    }
    float *rows = x_malloc((size_t)(width * count + 1) * sizeof(float));
    for (size_t i = 0; i < trainer->head_count; i++) {
        const struct tensor *output = &trainer->evaluation_outputs[i];
        int64_t own = shape_count(&output->shape) / count;
        for (int64_t row = 0; row < count; row++) {
            memcpy(rows + row * width + at, (const float *)output->data + row * own,
                   (size_t)own * sizeof(float));
        }
        at += own;
    }
    *ret_outputs = rows;
    *ret_width = width;
    return 0;
}

/* samples: of each input. */
static int run(const struct rows *rows, char *const *samples, int64_t count, float **ret_outputs,
               int64_t *ret_width, struct error *err) {
    struct trainer *trainer = rows->trainer;
    struct training *training = NULL;
    bool *is_bound = x_calloc(trainer->evaluation.output_count + 1, sizeof *is_bound);
    for (size_t i = 0; i < rows->inputs; i++) {
        trainer->evaluation_inputs[i].shape.dims[0] = count;
        trainer->evaluation_inputs[i].data = samples[i];
    }
    int result = training_open(trainer->device, &trainer->evaluation, trainer->evaluation_inputs,
                               is_bound, &training, err);
    for (size_t i = 0; result == 0 && i < trainer->graph.variable_count; i++) {
        training_bind_input(training, rows->inputs + i, trainer->results[i]);
    }
    result = result < 0 ? -1
                        : training_run(training, trainer->evaluation_inputs,
                                       trainer->evaluation_outputs, NULL, err);
    result = result < 0 ? -1 : join_outputs(trainer, count, ret_outputs, ret_width, err);
    training_free(training);
    free(is_bound);
    return result;
}

/* ret_worst: the number that differs most, of the same row in two batches. */
static bool is_same(const struct rows *rows, const float *a, const float *b, int64_t *ret_worst) {
    double most = 0, worst = -1;
    for (int64_t i = 0; i < rows->width; i++) {
        double size = fmax(fabs((double)a[i]), fabs((double)b[i]));
        double far = fabs((double)a[i] - (double)b[i]);
        most = isfinite(size) ? fmax(most, size) : most;
        if (far > worst) { /* false if one is not a number: the loss shows that */
            worst = far;
            *ret_worst = i;
        }
    }
    double bound = rows->trainer->device->is_host ? host_bound : device_bound;
    return !(worst > bound * most + 1e-6);
}

static int refuse(const struct rows *rows, int64_t row, int64_t at, const float *own,
                  const char *where, struct error *err) {
    return error_set(
        err, ERROR_INVALID,
        "sample %lld gets %.6g among other samples and %.6g %s (number %lld of its "
        "row): the network's rows depend on each other, so its scores would depend on "
        "how samples are put into batches. Export it after model.eval(), with no operation "
        "over axis 0 (the batch), such as mean(0) or attention without batch_first",
        (long long)row, (double)rows->together[row * rows->width + at], (double)own[at], where,
        (long long)at);
}

static int compare(const struct rows *rows, int64_t row, const float *own, const char *where,
                   struct error *err) {
    int64_t worst = 0;
    return is_same(rows, rows->together + row * rows->width, own, &worst)
               ? 0
               : refuse(rows, row, worst, own, where, err);
}

/* A network whose formula has a fixed batch size cannot run one sample. */
static int check_alone(const struct rows *rows, struct error *err) {
    for (int64_t row = 0; row < rows->count; row++) {
        struct error cause = {0};
        float *own = NULL;
        int64_t width = 0;
        char *alone[INPUTS_MAX] = {0};
        for (size_t i = 0; i < rows->inputs; i++) {
            alone[i] = rows->samples[i] + (size_t)row * rows->sample_bytes[i];
        }
        if (run(rows, alone, 1, &own, &width, &cause) < 0) {
            if (cause.kind != ERROR_INVALID) {
                *err = cause;
                return -1;
            }
            trainer_say(rows->trainer,
                        "the network takes %lld samples at once and not one (%s): export it with "
                        "dynamic_axes, or score it with miniBatchSize %lld",
                        (long long)rows->count, cause.text, (long long)rows->count);
            return 0;
        }
        int result = compare(rows, row, own, "alone", err);
        free(own);
        if (result < 0) {
            return -1;
        }
    }
    return 0;
}

/* Where one sample cannot be run: the last one among copies of the first. */
static int check_others(const struct rows *rows, struct error *err) {
    int64_t last = rows->count - 1, width = 0;
    char *samples[INPUTS_MAX] = {0};
    float *outputs = NULL;
    for (size_t k = 0; k < rows->inputs; k++) {
        size_t bytes = rows->sample_bytes[k];
        samples[k] = x_malloc((size_t)rows->count * bytes + 1);
        for (int64_t i = 0; i < rows->count; i++) {
            memcpy(samples[k] + (size_t)i * bytes,
                   rows->samples[k] + (i == last ? (size_t)last * bytes : 0), bytes);
        }
    }
    int result = run(rows, samples, rows->count, &outputs, &width, err);
    result = result < 0
                 ? -1
                 : compare(rows, last, outputs + last * width, "among copies of sample 0", err);
    free(outputs);
    for (size_t k = 0; k < rows->inputs; k++) {
        free(samples[k]);
    }
    return result;
}

/* A network that draws random numbers gives others each time, and would seem to depend on others.
 */
static int check_repeats(const struct rows *rows, struct error *err) {
    float *again = NULL;
    int64_t width = 0, worst = 0;
    if (run(rows, rows->samples, rows->count, &again, &width, err) < 0) {
        return -1;
    }
    bool repeats = is_same(rows, rows->together, again, &worst);
    free(again);
    return repeats ? 0
                   : error_set(err, ERROR_INVALID,
                               "the network gives other numbers each time it is run with the same "
                               "samples: export it without random numbers");
}

/* A step may have fewer samples than are compared here, and a network a formula that takes only as
 * many as a step: then those are compared. */
static int run_together(struct rows *rows, struct error *err) {
    struct error cause = {0};
    int64_t own = rows->trainer->batch_size;
    if (run(rows, rows->samples, rows->count, &rows->together, &rows->width, &cause) == 0) {
        return 0;
    }
    if (cause.kind != ERROR_INVALID || rows->count <= own) {
        *err = cause;
        return -1;
    }
    trainer_say(rows->trainer,
                "the network takes only %lld at once and not %lld samples (%s): export it with "
                "dynamic_axes, or score it with miniBatchSize %lld",
                (long long)own, (long long)rows->count, cause.text, (long long)own);
    rows->count = own;
    return run(rows, rows->samples, rows->count, &rows->together, &rows->width, err);
}

static int check(struct rows *rows, const struct batch *batch, struct error *err) {
    struct trainer *trainer = rows->trainer;
    rows->count = batch->count;
    rows->inputs = trainer->network->input_count;
    trainer_set_inputs(trainer, batch, (struct order_slice){0, batch->count},
                       trainer->evaluation_inputs);
    for (size_t i = 0; i < rows->inputs; i++) {
        const struct tensor *input = &trainer->evaluation_inputs[i];
        struct shape shape = input->shape;
        shape.dims[0] = 1;
        rows->sample_bytes[i] = (size_t)shape_count(&shape) * tensor_type_size(input->type);
        rows->samples[i] = input->data;
    }
    if (run_together(rows, err) < 0) {
        return -1;
    }
    if (rows->count == 1) {
        return 0; /* there are no others */
    }
    return check_repeats(rows, err) < 0 || check_alone(rows, err) < 0 || check_others(rows, err) < 0
               ? -1
               : 0;
}

int trainer_check_rows(struct trainer *trainer, struct error *err) {
    AUTO(loader_closep) struct loader *loader = NULL;
    const struct batch *batch = NULL;
    struct rows rows = {.trainer = trainer};
    const struct value *input = &trainer->network->values[trainer->network->inputs[0]];
    int64_t fixed = input->shape.rank ? input->shape.dims[0] : -1;
    const struct loader_options options = {.dataset = trainer->train,
                                           .augment = &trainer->augment,
                                           .bad = trainer->bad_train,
                                           .batch_size = fixed > 0 ? fixed : ROWS,
                                           .size = 1,
                                           .end_step = 1,
                                           .threads = 1};
    if (loader_open(&options, &loader, err) < 0) {
        return -1;
    }
    int more = loader_take(loader, &batch, err);
    int result = more > 0 && batch->count > 1 ? check(&rows, batch, err) : MIN(more, 0);
    free(rows.together);
    return result;
}
