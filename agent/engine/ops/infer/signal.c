// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/infer/signal.h"

#include "agent/engine/ops/infer/params.h"

static const int64_t size_max = (int64_t)1 << 31;

int signal_sizes(const struct fact *const *inputs, int count, int64_t *ret_sizes,
                 struct error *err) {
    for (int i = 0; i < count; i++) {
        int found;
        if (param_integers(inputs[i], "a size", &ret_sizes[i], 1, &found, err) < 0) {
            return -1;
        }
        if (found != 1 || ret_sizes[i] < 1 || ret_sizes[i] > size_max) {
            return error_set(err, ERROR_INVALID, "input %d: one number from 1 to %lld is expected",
                             i, (long long)size_max);
        }
    }
    return 0;
}

/* The axis is an input from opset 20 on; if it is absent, the last dimension of the signal is
 * used. */
static int read_axis(const struct node *node, const struct fact *const *inputs, int64_t *ret_axis,
                     struct error *err) {
    const struct fact *fact = param_input(node, inputs, 2);
    int count = 1;
    *ret_axis = -2;
    if (fact && param_integers(fact, "the axis", ret_axis, 1, &count, err) < 0) {
        return -1;
    }
    return count == 1 ? 0 : error_set(err, ERROR_INVALID, "the axis must be one integer");
}

int dft_params(const struct node *node, const struct fact *const *inputs, struct dft *ret_dft,
               struct error *err) {
    const struct shape *x = &inputs[0]->shape;
    const struct fact *length = param_input(node, inputs, 1);
    struct dft dft = {.is_inverse = node_integer(node, "inverse", 0)};
    int64_t axis = node_integer(node, "axis", 1);
    if (param_rank(inputs[0], 0, 2, TENSOR_RANK_MAX, err) < 0 ||
        (node->opset >= 20 && read_axis(node, inputs, &axis, err) < 0) ||
        param_axis(axis, x->rank, &dft.axis, err) < 0) {
        return -1;
    }
    dft.size = dft.length = x->dims[dft.axis];
    dft.parts = x->dims[x->rank - 1];
    if (length && signal_sizes(&length, 1, &dft.length, err) < 0) {
        return -1;
    }
    if (dft.axis == x->rank - 1 || dft.parts < 1 || dft.parts > 2 || dft.length < 1) {
        return error_set(err, ERROR_INVALID, "the last dimension must be 1 or 2, and not the axis");
    }
    bool is_onesided = node_integer(node, "onesided", 0);
    if (is_onesided && dft.is_inverse) {
        return error_set(err, ERROR_UNSUPPORTED, "onesided and inverse cannot both be set");
    }
    dft.bins = is_onesided ? dft.length / 2 + 1 : dft.length;
    *ret_dft = dft;
    return 0;
}

int infer_dft(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
              struct error *err) {
    struct dft dft;
    if (dft_params(node, inputs, &dft, err) < 0) {
        return -1;
    }
    outputs[0].shape = inputs[0]->shape;
    outputs[0].shape.dims[dft.axis] = dft.bins;
    outputs[0].shape.dims[outputs[0].shape.rank - 1] = 2;
    return 0;
}

int stft_params(const struct node *node, const struct fact *const *inputs, struct stft *ret_stft,
                struct error *err) {
    const struct fact *window = param_input(node, inputs, 2),
                      *length = param_input(node, inputs, 3);
    struct stft stft = {0};
    if (param_rank(inputs[0], 0, 2, 3, err) < 0 ||
        signal_sizes(&inputs[1], 1, &stft.step, err) < 0 ||
        (window && param_rank(window, 2, 1, 1, err) < 0) ||
        (length && signal_sizes(&length, 1, &stft.length, err) < 0)) {
        return -1;
    }
    const struct shape *x = &inputs[0]->shape;
    int64_t samples = x->dims[1];
    stft.parts = x->rank == 3 ? x->dims[2] : 1;
    stft.length = length ? stft.length : window ? window->shape.dims[0] : samples;
    if (stft.length < 1 || stft.length > samples || stft.parts < 1 || stft.parts > 2 ||
        (window && window->shape.dims[0] != stft.length)) {
        return error_set(err, ERROR_INVALID, "frames of %lld in a signal of %lld",
                         (long long)stft.length, (long long)samples);
    }
    stft.frames = (samples - stft.length) / stft.step + 1;
    stft.bins = node_integer(node, "onesided", 1) ? stft.length / 2 + 1 : stft.length;
    *ret_stft = stft;
    return 0;
}

int infer_stft(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
               struct error *err) {
    struct stft stft;
    if (stft_params(node, inputs, &stft, err) < 0) {
        return -1;
    }
    outputs[0].shape = (struct shape){4, {inputs[0]->shape.dims[0], stft.frames, stft.bins, 2}};
    return 0;
}

static int set_type(const struct node *node, struct fact *output, struct error *err) {
    output->type = TENSOR_FLOAT32;
    if (node_attribute(node, "output_datatype") &&
        param_type(node_integer(node, "output_datatype", 0), &output->type, err) < 0) {
        return -1;
    }
    return 0;
}

int infer_signal_window(const struct node *node, const struct fact *const *inputs,
                        struct fact *outputs, struct error *err) {
    int64_t size;
    if (signal_sizes(inputs, 1, &size, err) < 0 || set_type(node, &outputs[0], err) < 0) {
        return -1;
    }
    outputs[0].shape = (struct shape){1, {size}};
    return 0;
}

int infer_mel_weights(const struct node *node, const struct fact *const *inputs,
                      struct fact *outputs, struct error *err) {
    int64_t sizes[3];
    if (signal_sizes(inputs, 3, sizes, err) < 0 || set_type(node, &outputs[0], err) < 0) {
        return -1;
    }
    for (int i = 3; i < 5; i++) {
        if (shape_count(&inputs[i]->shape) != 1) {
            return error_set(err, ERROR_INVALID, "input %d must be one number", i);
        }
    }
    outputs[0].shape = (struct shape){2, {sizes[1] / 2 + 1, sizes[0]}};
    return 0;
}
