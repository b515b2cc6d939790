// SPDX-License-Identifier: Apache-2.0
/* Normalizations: batch, instance, group, layer, LRN. */
#include "agent/engine/ops/infer/norm.h"
#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/reference.h"

#include <math.h>

struct norm {
    const float *x, *scale, *bias, *mean, *variance;
    float *y;
    float epsilon;
    int64_t channels, pixels;
};

static struct norm norm_of(const struct call *call) {
    const struct shape *shape = &call->inputs[0]->shape;
    struct norm norm = {.x = call->inputs[0]->data,
                        .scale = call->inputs[1]->data,
                        .bias = call->inputs[2]->data,
                        .y = call->outputs[0]->data,
                        .epsilon = node_number(call->node, "epsilon", 1e-5f),
                        .channels = shape->dims[1]};
    int64_t planes = shape->dims[0] * shape->dims[1];
    norm.pixels = planes ? shape_count(shape) / planes : 0;
    return norm;
}

static void scale_plane(const struct norm *norm, int64_t plane, double mean, double variance) {
    int64_t channel = plane % norm->channels;
    double scale = (double)norm->scale[channel] / sqrt(variance + (double)norm->epsilon);
    double shift = (double)norm->bias[channel] - mean * scale;
    for (int64_t i = plane * norm->pixels; i < (plane + 1) * norm->pixels; i++) {
        norm->y[i] = (float)((double)norm->x[i] * scale + shift);
    }
}

static void batch_body(void *context, int64_t first, int64_t last) {
    const struct norm *norm = context;
    for (int64_t plane = first; plane < last; plane++) {
        int64_t channel = plane % norm->channels;
        scale_plane(norm, plane, (double)norm->mean[channel], (double)norm->variance[channel]);
    }
}

static int batch_normalization_run(const struct call *call, struct error *err UNUSED) {
    struct norm norm = norm_of(call);
    norm.mean = call->inputs[3]->data;
    norm.variance = call->inputs[4]->data;
    threads_run(cpu_threads(call), call->inputs[0]->shape.dims[0] * norm.channels, 1, batch_body,
                &norm);
    return 0;
}
const struct kernel reference_batch_normalization = {"reference batch_normalization",
                                                     batch_normalization_run};

static void instance_body(void *context, int64_t first, int64_t last) {
    const struct norm *norm = context;
    for (int64_t plane = first; plane < last; plane++) {
        const float *x = norm->x + plane * norm->pixels;
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < norm->pixels; i++) {
            sum += (double)x[i];
        }
        double mean = sum / (double)MAX(norm->pixels, 1);
        for (int64_t i = 0; i < norm->pixels; i++) {
            squares += ((double)x[i] - mean) * ((double)x[i] - mean);
        }
        scale_plane(norm, plane, mean, squares / (double)MAX(norm->pixels, 1));
    }
}

static int instance_normalization_run(const struct call *call, struct error *err UNUSED) {
    struct norm norm = norm_of(call);
    threads_run(cpu_threads(call), call->inputs[0]->shape.dims[0] * norm.channels, 1, instance_body,
                &norm);
    return 0;
}
const struct kernel reference_instance_normalization = {"reference instance_normalization",
                                                        instance_normalization_run};

struct group {
    const float *x, *scale, *shift;
    float *y;
    double epsilon;
    int64_t groups, channels, pixels; /* channels of one group */
    bool is_by_channel;
};

static void group_body(void *context, int64_t first, int64_t last) {
    const struct group *group = context;
    int64_t size = group->channels * group->pixels;
    for (int64_t at = first; at < last; at++) {
        const float *x = group->x + at * size;
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < size; i++) {
            sum += (double)x[i];
        }
        double mean = sum / (double)MAX(size, 1);
        for (int64_t i = 0; i < size; i++) {
            squares += ((double)x[i] - mean) * ((double)x[i] - mean);
        }
        double inverse = 1 / sqrt(squares / (double)MAX(size, 1) + group->epsilon);
        for (int64_t i = 0; i < size; i++) {
            int64_t number = at % group->groups, channel = number * group->channels;
            int64_t index = group->is_by_channel ? channel + i / group->pixels : number;
            group->y[at * size + i] =
                (float)(((double)x[i] - mean) * inverse * (double)group->scale[index] +
                        (double)group->shift[index]);
        }
    }
}

static int group_normalization_run(const struct call *call, struct error *err UNUSED) {
    const struct shape *shape = &call->inputs[0]->shape;
    int64_t groups = node_integer(call->node, "num_groups", 1);
    int64_t planes = shape->dims[0] * shape->dims[1];
    struct group group = {.x = call->inputs[0]->data,
                          .scale = call->inputs[1]->data,
                          .shift = call->inputs[2]->data,
                          .y = call->outputs[0]->data,
                          .epsilon = (double)node_number(call->node, "epsilon", 1e-5f),
                          .groups = groups,
                          .channels = shape->dims[1] / groups,
                          .pixels = planes ? shape_count(shape) / planes : 0,
                          .is_by_channel = call->node->opset >= 21};
    threads_run(cpu_threads(call), shape->dims[0] * groups, 1, group_body, &group);
    return 0;
}
const struct kernel reference_group_normalization = {"reference group_normalization",
                                                     group_normalization_run};

/* y = x / (bias + alpha / size * sum of squares of `size` neighbouring channels) ^ beta */
static int lrn_run(const struct call *call, struct error *err UNUSED) {
    const struct shape *shape = &call->inputs[0]->shape;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    int64_t size = node_integer(call->node, "size", 1), channels = shape->dims[1];
    double alpha = (double)node_number(call->node, "alpha", 1e-4f);
    double beta = (double)node_number(call->node, "beta", 0.75f);
    double bias = (double)node_number(call->node, "bias", 1);
    int64_t planes = shape->dims[0] * channels;
    int64_t pixels = planes ? shape_count(shape) / planes : 0;
    for (int64_t plane = 0; plane < planes; plane++) {
        int64_t c = plane % channels;
        int64_t first = MAX(0, c - (size - 1) / 2), last = MIN(channels - 1, c + size / 2);
        for (int64_t i = 0; i < pixels; i++) {
            double sum = 0;
            for (int64_t k = first; k <= last; k++) {
                double value = (double)x[(plane - c + k) * pixels + i];
                sum += value * value;
            }
            y[plane * pixels + i] = (float)((double)x[plane * pixels + i] /
                                            pow(bias + alpha / (double)size * sum, beta));
        }
    }
    return 0;
}
const struct kernel reference_lrn = {"reference lrn", lrn_run};

/* ---- LayerNormalization ---------------------------------------------------------------------- */

struct layer {
    const struct call *call;
    int64_t inner;
    double epsilon;
};

static void put_layer(const struct call *call, int output, int64_t at, double value) {
    if (output < call->output_count && call->outputs[output]) {
        ((float *)call->outputs[output]->data)[at] = (float)value;
    }
}

static void layer_body(void *context, int64_t first, int64_t last) {
    const struct layer *layer = context;
    const struct call *call = layer->call;
    const float *scale = call->inputs[1]->data;
    const float *shift = call->input_count > 2 && call->inputs[2] ? call->inputs[2]->data : NULL;
    for (int64_t at = first; at < last; at++) {
        const float *x = (const float *)call->inputs[0]->data + at * layer->inner;
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < layer->inner; i++) {
            sum += (double)x[i];
        }
        double mean = sum / (double)layer->inner;
        for (int64_t i = 0; i < layer->inner; i++) {
            squares += ((double)x[i] - mean) * ((double)x[i] - mean);
        }
        double inverse = 1 / sqrt(squares / (double)layer->inner + layer->epsilon);
        for (int64_t i = 0; i < layer->inner; i++) {
            put_layer(call, 0, at * layer->inner + i,
                      ((double)x[i] - mean) * inverse * (double)scale[i] +
                          (shift ? (double)shift[i] : 0));
        }
        put_layer(call, 1, at, mean);
        put_layer(call, 2, at, inverse);
    }
}

static int layer_normalization_run(const struct call *call, struct error *err) {
    struct layer_norm norm;
    if (layer_norm_params(call->node, &call->inputs[0]->shape, &norm, err) < 0) {
        return -1;
    }
    struct layer layer = {call, norm.inner, (double)node_number(call->node, "epsilon", 1e-5f)};
    threads_run(cpu_threads(call), norm.outer, 1, layer_body, &layer);
    return 0;
}
const struct kernel reference_layer_normalization = {"reference layer_normalization",
                                                     layer_normalization_run};
