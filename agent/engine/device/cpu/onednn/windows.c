// SPDX-License-Identifier: Apache-2.0
// Convolutions and transposed ones that fast/ does not take.
#include "agent/engine/device/cpu/onednn/request.h"
#include "agent/engine/ops/table.h"

enum { DIMS_MAX = 3 + WINDOW_RANK };

static const struct shape *input_shape(const struct schedule *schedule, const struct step *step,
                                       int index) {
    return &schedule->slots[step->inputs[index]].shape;
}

static bool has_bias(const struct step *step) {
    return step->input_count > 2 && step->inputs[2] >= 0;
}

static bool read_window(const struct schedule *schedule, const struct step *step,
                        struct window *ret_window) {
    struct error err = {0};
    struct fact facts[3] = {0};
    const struct fact *inputs[3] = {0};
    for (int i = 0; i < MIN(step->input_count, 3); i++) {
        if (step->inputs[i] >= 0) {
            const struct schedule_slot *slot = &schedule->slots[step->inputs[i]];
            facts[i] = (struct fact){slot->type, slot->shape, NULL};
            inputs[i] = &facts[i];
        }
    }
    return (step->node->op->id == OP_CONV
                ? window_of_conv(step->node, inputs, ret_window, &err)
                : window_of_conv_transpose(step->node, inputs, ret_window, &err)) == 0;
}

bool request_pad(const struct window *window, bool transposed,
                 struct request_padding *ret_geometry) {
    struct request_padding geometry = {0};
    for (int i = 0; i < window->rank; i++) {
        int from = WINDOW_RANK - window->rank + i;
        int64_t stride = window->stride[from], dilation = window->dilation[from];
        int64_t extent = (window->kernel[from] - 1) * dilation + 1, begin = window->pad_begin[from];
        /* The padding at the end that follows from the sizes: output_padding reduces it, and so
         * does a remainder. */
        int64_t small = transposed ? window->in[from] : window->out[from];
        int64_t large = transposed ? window->out[from] : window->in[from];
        int64_t end = (small - 1) * stride + extent - large - begin;
        if (begin >= extent || end >= extent || begin < 0 || end <= -stride || extent > INT16_MAX ||
            stride > INT16_MAX) {
            return false;
        }
        geometry.strides[i] = stride;
        geometry.dilations[i] = dilation - 1;
        geometry.pads_begin[i] = begin;
        geometry.pads_end[i] = end;
    }
    *ret_geometry = geometry;
    return true;
}

const dnnl_memory_desc_t *request_add_weights(struct request *request, int name, int input,
                                              const struct shape *w, const struct window *window,
                                              bool transposed) {
    int64_t dims[DIMS_MAX], strides[DIMS_MAX], groups = window->groups;
    int64_t outer = w->dims[0] / groups, inner = w->dims[1], taps = 1;
    int rank = 1 + w->rank;
    for (int i = rank - 1; i >= 3; i--) {
        dims[i] = w->dims[i - 1];
        strides[i] = taps;
        taps *= dims[i];
    }
    dims[0] = groups;
    dims[1] = transposed ? inner : outer;
    dims[2] = transposed ? outer : inner;
    strides[0] = outer * inner * taps;
    strides[1] = transposed ? taps : inner * taps;
    strides[2] = transposed ? inner * taps : taps;
    int skip = groups == 1;
    return request_add(request, name, input, rank - skip, dims + skip, strides + skip);
}

static bool fill(const struct schedule *schedule, const struct step *step, bool transposed,
                 struct request *request) {
    struct window window;
    struct request_padding g;
    const struct shape *w = input_shape(schedule, step, 1);
    const struct shape *y = &schedule->slots[step->outputs[0]].shape;
    if (!read_window(schedule, step, &window) || !request_pad(&window, transposed, &g)) {
        return false;
    }
    request_begin(request);
    if (request->options.winograd) {
        return false; /* its rounding errors change masks of relus; the backward pass makes none */
    }
    dnnl_alg_kind_t algorithm = transposed ? dnnl_deconvolution_direct : dnnl_convolution_direct;
    dnnl_memory_desc_t in =
        request_add_activation(request, DNNL_ARG_SRC, 0, &schedule->slots[step->inputs[0]]);
    dnnl_memory_desc_t out = request_add_activation(request, DNNL_ARG_DST, REQUEST_OUTPUT,
                                                    &schedule->slots[step->outputs[0]]);
    dnnl_memory_desc_t weights =
        request_any(request_add_weights(request, DNNL_ARG_WEIGHTS, 1, w, &window, transposed));
    const dnnl_memory_desc_t *bias = NULL;
    if (has_bias(step)) {
        bias = request_add(request, DNNL_ARG_BIAS, 2, 1, &y->dims[1], NULL);
    }
    /* For inference oneDNN would prefer formats other than blocks. */
    bool is_lasting = schedule->slots[step->inputs[1]].is_lasting;
    dnnl_prop_kind_t kind = is_lasting ? dnnl_forward_inference : dnnl_forward_training;
    return (transposed ? dnnl.dilated_deconvolution_forward_desc_init(
                             &request->description.deconv, dnnl_forward_inference, algorithm, &in,
                             &weights, bias, &out, g.strides, g.dilations, g.pads_begin, g.pads_end)
                       : dnnl.dilated_convolution_forward_desc_init(
                             &request->description.conv, kind, algorithm, &in, &weights, bias, &out,
                             g.strides, g.dilations, g.pads_begin, g.pads_end)) == dnnl_success;
}

bool request_conv(const struct schedule *schedule, const struct step *step,
                  struct request *ret_request) {
    return fill(schedule, step, false, ret_request);
}

bool request_conv_transpose(const struct schedule *schedule, const struct step *step,
                            struct request *ret_request) {
    return fill(schedule, step, true, ret_request);
}
