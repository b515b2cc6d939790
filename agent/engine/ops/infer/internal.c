// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/infer/internal.h"

#include "agent/engine/loss.h"
#include "agent/engine/ops/infer/elementwise.h"
#include "agent/engine/ops/infer/loss.h"
#include "agent/engine/ops/infer/params.h"
#include "agent/engine/training_graph.h"

int internal_shape(const struct fact *const *inputs, struct shape *ret_shape, struct error *err) {
    struct shape shape;
    if (param_integers(inputs[1], "a shape", shape.dims, TENSOR_RANK_MAX, &shape.rank, err) < 0) {
        return -1;
    }
    for (int i = 0; i < shape.rank; i++) {
        if (shape.dims[i] < 0) {
            return error_set(err, ERROR_INVALID, "a shape with a negative size");
        }
    }
    *ret_shape = shape;
    return 0;
}

int infer_to_shape(const struct node *node UNUSED, const struct fact *const *inputs,
                   struct fact *outputs, struct error *err) {
    return internal_shape(inputs, &outputs[0].shape, err);
}

int infer_sum_to(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                 struct error *err) {
    struct shape whole = inputs[0]->shape;
    if (infer_to_shape(node, inputs, outputs, err) < 0 ||
        elementwise_broadcast(&whole, &outputs[0].shape, err) < 0) {
        return -1;
    }
    if (!shape_equal(&whole, &inputs[0]->shape)) {
        return error_set(err, ERROR_INVALID, "the shape does not broadcast to input 0");
    }
    return 0;
}

int infer_conv_gradient_weights(const struct node *node, const struct fact *const *inputs,
                                struct fact *outputs, struct error *err) {
    if (param_rank(inputs[0], 0, 3, TENSOR_RANK_MAX, err) < 0) {
        return -1;
    }
    if (node->output_count > 1) {
        outputs[1].shape = (struct shape){1, {inputs[0]->shape.dims[1]}};
    }
    return infer_to_shape(node, inputs, outputs, err);
}

int infer_side_gradient(const struct node *node, const struct fact *const *inputs,
                        struct fact *outputs, struct error *err UNUSED) {
    outputs[0].shape = inputs[1 + node_integer(node, "side", 0)]->shape;
    return 0;
}

static void set_channels(const struct node *node, const struct fact *x, struct fact *outputs) {
    for (int i = 1; i < node->output_count; i++) {
        outputs[i].shape = (struct shape){1, {x->shape.dims[1]}};
    }
}

static int check_channels(const struct fact *x, const struct fact *fact, struct error *err) {
    if (fact && (fact->shape.rank != 1 || fact->shape.dims[0] != x->shape.dims[1])) {
        return error_set(err, ERROR_INVALID, "each channel must have one number: %lld",
                         (long long)x->shape.dims[1]);
    }
    return 0;
}

int infer_norm_training(const struct node *node, const struct fact *const *inputs,
                        struct fact *outputs, struct error *err) {
    if (param_rank(inputs[0], 0, 2, TENSOR_RANK_MAX, err) < 0 ||
        check_channels(inputs[0], inputs[1], err) < 0 ||
        check_channels(inputs[0], inputs[2], err) < 0) {
        return -1;
    }
    outputs[0].shape = inputs[0]->shape;
    set_channels(node, inputs[0], outputs);
    return 0;
}

int infer_norm_gradient(const struct node *node, const struct fact *const *inputs,
                        struct fact *outputs, struct error *err) {
    if (param_rank(inputs[1], 1, 2, TENSOR_RANK_MAX, err) < 0) {
        return -1;
    }
    for (int i = 2; i < 5; i++) {
        if (check_channels(inputs[1], inputs[i], err) < 0) {
            return -1;
        }
    }
    outputs[0].shape = inputs[1]->shape;
    set_channels(node, inputs[1], outputs);
    return 0;
}

void internal_dropout(const struct node *node, const struct shape *x, int64_t n,
                      struct dropout_samples *ret_samples) {
    int64_t count = shape_count(x), each = node_integer(node, "each", 0);
    ret_samples->samples = each ? n : 1;
    ret_samples->each = each ? each : count;
    ret_samples->outer =
        n > 0 && count > 0 ? count / (ret_samples->samples * ret_samples->each) : 0;
}

int infer_dropout_training(const struct node *node, const struct fact *const *inputs,
                           struct fact *outputs, struct error *err) {
    const struct shape *x = &inputs[0]->shape, *keys = &inputs[1]->shape;
    if (keys->rank != 1 || (keys->dims[0] == 0 && shape_count(x) > 0)) {
        return error_set(err, ERROR_INVALID, "dropout needs one key for each sample");
    }
    int64_t each = node_integer(node, "each", -1);
    if (each < 0 || (each > 0 && shape_count(x) % (MAX(keys->dims[0], 1) * each) != 0)) {
        return error_set(err, ERROR_INVALID, "it is not known where the samples are");
    }
    return infer_same(node, inputs, outputs, err);
}

static int check_scale(const struct fact *scale, struct error *err) {
    return shape_count(&scale->shape) == 1
               ? 0
               : error_set(err, ERROR_INVALID, "the loss's scale must be one number");
}

/* The loss is one number, output 1 the gradient of the scores. */
static int finish_loss(const struct node *node, const struct fact *const *inputs,
                       struct fact *outputs, struct error *err) {
    for (int i = 0; i < node->output_count; i++) {
        outputs[i].shape = i == 1 ? inputs[0]->shape : (struct shape){0};
    }
    return check_scale(inputs[2], err);
}

int infer_softmax_cross_entropy(const struct node *node, const struct fact *const *inputs,
                                struct fact *outputs, struct error *err) {
    struct label_places places;
    if (loss_places(&inputs[0]->shape, &inputs[1]->shape, &places, err) < 0) {
        return -1;
    }
    const struct attribute *weights = node_attribute(node, "weights");
    if (weights && (int64_t)weights->count != places.classes) {
        return error_set(err, ERROR_INVALID, "classWeights: there are %zu, and %lld classes",
                         weights->count, (long long)places.classes);
    }
    return finish_loss(node, inputs, outputs, err);
}

int infer_ctc_loss(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                   struct error *err) {
    struct ctc_shape shape;
    if (ctc_shape_of(&inputs[0]->shape, &inputs[1]->shape, node_integer(node, "blank", 0), &shape,
                     err) < 0) {
        return -1;
    }
    return finish_loss(node, inputs, outputs, err);
}

int infer_mean_squared(const struct node *node, const struct fact *const *inputs,
                       struct fact *outputs, struct error *err) {
    if (loss_check_target(&inputs[0]->shape, &inputs[1]->shape, err) < 0) {
        return -1;
    }
    outputs[0].shape = (struct shape){0};
    if (node->output_count > 1) {
        outputs[1].shape = inputs[0]->shape;
    }
    return check_scale(inputs[2], err);
}
