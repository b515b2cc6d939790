// SPDX-License-Identifier: Apache-2.0
/* Normalizations and dropout in training, and their gradients. One thread computes a channel, with
 * double sums in the order of the batch, so results do not depend on the number of threads. */
#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/reference.h"
#include "agent/engine/ops/infer/internal.h"
#include "agent/engine/ops/table.h"

#include <math.h>
#include <stdlib.h>

/* x is [batch, channels, pixels]. */
struct norm {
    enum op_id of;
    int64_t batch, channels, pixels;
    double epsilon;
    const float *x, *scale, *shift, *dy;
    float *mean, *variance; /* written by NormTraining, read by its gradient */
    float *y, *dx, *dscale, *dshift;
};

static struct norm norm_of(const struct call *call, const struct tensor *x) {
    const struct shape *shape = &x->shape;
    struct norm norm = {.batch = shape->dims[0],
                        .channels = shape->dims[1],
                        .epsilon = (double)node_number(call->node, "epsilon", 1e-5f),
                        .x = x->data};
    int64_t planes = norm.batch * norm.channels;
    norm.pixels = planes ? shape_count(shape) / planes : 0;
    return norm;
}

/* Computes mean and variance of planes `first` to `last` - 1 of a channel. */
static void measure(const struct norm *norm, int64_t channel, int64_t first, int64_t last,
                    double *ret_mean, double *ret_variance) {
    double sum = 0, squares = 0, count = (double)(MAX((last - first) * norm->pixels, 1));
    for (int64_t n = first; n < last; n++) {
        const float *x = norm->x + (n * norm->channels + channel) * norm->pixels;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < norm->pixels; i++) {
            sum += (double)x[i];
        }
    }
    double mean = sum / count;
    for (int64_t n = first; n < last; n++) {
        const float *x = norm->x + (n * norm->channels + channel) * norm->pixels;
#pragma omp simd reduction(+ : squares)
        for (int64_t i = 0; i < norm->pixels; i++) {
            squares += ((double)x[i] - mean) * ((double)x[i] - mean);
        }
    }
    *ret_mean = mean;
    *ret_variance = squares / count;
}

static void training_body(void *context, int64_t first, int64_t last) {
    const struct norm *norm = context;
    for (int64_t c = first; c < last; c++) {
        double mean, variance;
        measure(norm, c, 0, norm->batch, &mean, &variance);
        double scale = (double)norm->scale[c] / sqrt(variance + norm->epsilon);
        double shift = (double)norm->shift[c] - mean * scale;
        for (int64_t n = 0; n < norm->batch; n++) {
            int64_t at = (n * norm->channels + c) * norm->pixels;
            float *y = norm->y;
#pragma omp simd
            for (int64_t i = at; i < at + norm->pixels; i++) {
                y[i] = (float)((double)norm->x[i] * scale + shift);
            }
        }
        norm->mean[c] = (float)mean;
        norm->variance[c] = (float)variance;
    }
}

static int norm_training_run(const struct call *call, struct error *err UNUSED) {
    struct norm norm = norm_of(call, call->inputs[0]);
    norm.scale = call->inputs[1]->data;
    norm.shift = call->inputs[2]->data;
    norm.y = call->outputs[0]->data;
    norm.mean = call->outputs[1]->data;
    norm.variance = call->outputs[2]->data;
    threads_run(cpu_threads(call), norm.channels, 1, training_body, &norm);
    return 0;
}
const struct kernel reference_norm_training = {"reference norm_training", norm_training_run};

/* The planes of a channel, of samples first..last - 1, and their statistics. */
struct planes {
    int64_t channel, first, last;
    double mean, variance;
};

/* With z = (x - mean) / deviation over the planes: dscale += sum dy z, dshift += sum
 * dy; dx = scale / deviation (dy - mean of dy - z mean of dy z), the means only where the
 * statistics depend on x. */
static void pass_planes(const struct norm *norm, const struct planes *planes, double *dscale,
                        double *dshift) {
    int64_t c = planes->channel, first = planes->first, last = planes->last;
    double mean = planes->mean, sum = 0, product = 0;
    double inverse = 1 / sqrt(planes->variance + norm->epsilon);
    for (int64_t n = first; n < last; n++) {
        int64_t at = (n * norm->channels + c) * norm->pixels;
#pragma omp simd reduction(+ : sum, product)
        for (int64_t i = at; i < at + norm->pixels; i++) {
            sum += (double)norm->dy[i];
            product += (double)norm->dy[i] * ((double)norm->x[i] - mean);
        }
    }
    product *= inverse;
    *dscale += product;
    *dshift += sum;
    double count = (double)MAX((last - first) * norm->pixels, 1);
    bool is_fixed = norm->of == OP_BATCH_NORMALIZATION;
    double base = is_fixed ? 0 : sum / count, slope = is_fixed ? 0 : product * inverse / count;
    double factor = (double)norm->scale[c] * inverse;
    for (int64_t n = first; n < last; n++) {
        int64_t at = (n * norm->channels + c) * norm->pixels;
        float *dx = norm->dx;
#pragma omp simd
        for (int64_t i = at; i < at + norm->pixels; i++) {
            double deviation = (double)norm->x[i] - mean;
            dx[i] = (float)(factor * ((double)norm->dy[i] - base - deviation * slope));
        }
    }
}

static void gradient_body(void *context, int64_t first, int64_t last) {
    const struct norm *norm = context;
    for (int64_t c = first; c < last; c++) {
        double dscale = 0, dshift = 0;
        if (norm->of == OP_INSTANCE_NORMALIZATION) {
            for (int64_t n = 0; n < norm->batch; n++) {
                struct planes planes = {.channel = c, .first = n, .last = n + 1};
                measure(norm, c, n, n + 1, &planes.mean, &planes.variance);
                pass_planes(norm, &planes, &dscale, &dshift);
            }
        } else {
            const struct planes planes = {.channel = c,
                                          .last = norm->batch,
                                          .mean = (double)norm->mean[c],
                                          .variance = (double)norm->variance[c]};
            pass_planes(norm, &planes, &dscale, &dshift);
        }
        norm->dscale[c] = (float)dscale;
        norm->dshift[c] = (float)dshift;
    }
}

/* (dy, x, scale, mean, variance) */
static int norm_gradient_run(const struct call *call, struct error *err UNUSED) {
    struct norm norm = norm_of(call, call->inputs[1]);
    const struct op *of = op_forward_node(call->node).op;
    norm.of = of ? (enum op_id)of->id : OP_NORM_TRAINING; /* no file can name it */
    norm.dy = call->inputs[0]->data;
    norm.scale = call->inputs[2]->data;
    norm.mean = call->inputs[3] ? call->inputs[3]->data : NULL;
    norm.variance = call->inputs[4] ? call->inputs[4]->data : NULL;
    norm.dx = call->outputs[0]->data;
    norm.dscale = call->outputs[1]->data;
    norm.dshift = call->outputs[2]->data;
    threads_run(cpu_threads(call), norm.channels, 1, gradient_body, &norm);
    return 0;
}
const struct kernel reference_norm_gradient = {"reference norm_gradient", norm_gradient_run};

struct lrn {
    const float *x, *dy;
    float *dx;
    int64_t channels, pixels, before, after; /* neighbours: c - before to c + after */
    double alpha, beta, bias; /* alpha is already divided by the number of neighbours */
};

/* s_c = bias + alpha sum x_k^2 over the neighbours k of c, y_c = x_c s_c^-beta. So
 * dx_j = dy_j s_j^-beta - 2 alpha beta x_j sum dy_c x_c s_c^(-beta - 1) over c whose neighbour j
 * is. */
static void lrn_body(void *context, int64_t first, int64_t last) {
    const struct lrn *lrn = context;
    double *s = x_calloc((size_t)MAX(lrn->channels, 1), 2 * sizeof *s), *t = s + lrn->channels;
    for (int64_t column = first; column < last; column++) {
        int64_t at = column / lrn->pixels * lrn->channels * lrn->pixels + column % lrn->pixels;
        for (int64_t c = 0; c < lrn->channels; c++) {
            double sum = 0;
            int64_t end = MIN(lrn->channels - 1, c + lrn->after);
            for (int64_t k = MAX(0, c - lrn->before); k <= end; k++) {
                double value = (double)lrn->x[at + k * lrn->pixels];
                sum += value * value;
            }
            s[c] = lrn->bias + lrn->alpha * sum;
            t[c] = (double)lrn->dy[at + c * lrn->pixels] * (double)lrn->x[at + c * lrn->pixels] *
                   pow(s[c], -lrn->beta - 1);
        }
        for (int64_t j = 0; j < lrn->channels; j++) {
            double sum = 0;
            int64_t end = MIN(lrn->channels - 1, j + lrn->before);
            for (int64_t c = MAX(0, j - lrn->after); c <= end; c++) {
                sum += t[c];
            }
            int64_t i = at + j * lrn->pixels;
            lrn->dx[i] = (float)((double)lrn->dy[i] * pow(s[j], -lrn->beta) -
                                 2 * lrn->alpha * lrn->beta * (double)lrn->x[i] * sum);
        }
    }
    free(s);
}

static int lrn_gradient_run(const struct call *call, struct error *err UNUSED) {
    const struct shape *shape = &call->inputs[1]->shape;
    int64_t size = node_integer(call->node, "size", 1);
    struct lrn lrn = {.dy = call->inputs[0]->data,
                      .x = call->inputs[1]->data,
                      .dx = call->outputs[0]->data,
                      .channels = shape->dims[1],
                      .before = (size - 1) / 2,
                      .after = size / 2,
                      .alpha = (double)node_number(call->node, "alpha", 1e-4f) / (double)size,
                      .beta = (double)node_number(call->node, "beta", 0.75f),
                      .bias = (double)node_number(call->node, "bias", 1)};
    int64_t planes = shape->dims[0] * lrn.channels;
    lrn.pixels = planes ? shape_count(shape) / planes : 0;
    threads_run(cpu_threads(call), shape->dims[0] * lrn.pixels, 64, lrn_body, &lrn);
    return 0;
}
const struct kernel reference_lrn_gradient = {"reference lrn_gradient", lrn_gradient_run};

struct dropout {
    const float *x;
    float *y;
    const int64_t *keys;
    uint64_t salt;
    float ratio;
    struct dropout_samples samples;
};

/* Splitmix64's last step: every bit of the input changes every bit of the result. */
static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void dropout_body(void *context, int64_t first, int64_t last) {
    const struct dropout *dropout = context;
    const double ratio = (double)dropout->ratio;
    const float factor = (float)(1 / (1 - ratio));
    const int64_t samples = dropout->samples.samples, each = dropout->samples.each;
    for (int64_t row = first; row < last; row++) {
        uint64_t stream = mix(mix((uint64_t)dropout->keys[row % samples]) + dropout->salt);
        int64_t before = row / samples * each; /* places of the sample in earlier rows */
        for (int64_t i = 0; i < each; i++) {
            int64_t at = row * each + i;
            uint64_t draw = mix(stream + (uint64_t)(before + i + 1) * 0x9e3779b97f4a7c15u);
            bool stays = (double)(draw >> 11) * 0x1p-53 >= ratio;
            dropout->y[at] = stays ? dropout->x[at] * factor : 0;
        }
    }
}

static int dropout_training_run(const struct call *call, struct error *err UNUSED) {
    const struct shape *shape = &call->inputs[0]->shape;
    struct dropout dropout = {.x = call->inputs[0]->data,
                              .y = call->outputs[0]->data,
                              .keys = call->inputs[1]->data,
                              .salt = (uint64_t)node_integer(call->node, "salt", 0),
                              .ratio = node_number(call->node, "ratio", 0.5f)};
    internal_dropout(call->node, shape, call->inputs[1]->shape.dims[0], &dropout.samples);
    threads_run(cpu_threads(call), dropout.samples.outer * dropout.samples.samples, 1, dropout_body,
                &dropout);
    return 0;
}
const struct kernel reference_dropout_training = {"reference dropout_training",
                                                  dropout_training_run};
