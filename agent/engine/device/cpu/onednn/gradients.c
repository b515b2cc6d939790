// SPDX-License-Identifier: Apache-2.0
// Gradients of convolutions. Each sum is computed by one thread, so its order is fixed.
#include "agent/engine/device/cpu/onednn/request.h"
#include "agent/engine/ops/infer/internal.h"
#include "agent/engine/ops/table.h"

// Reads the forward convolution's parameters, given the shapes of its x and w.
static bool read_conv(const struct step *step, const struct shape *x, const struct shape *w,
                      struct window *ret_window, struct request_padding *ret_geometry) {
    struct node forward = op_forward_node(step->node);
    const struct fact facts[] = {{TENSOR_FLOAT32, *x, NULL}, {TENSOR_FLOAT32, *w, NULL}};
    const struct fact *inputs[] = {&facts[0], &facts[1]};
    struct error err = {0};
    forward.input_count = 2;
    return forward.op->id == OP_CONV && window_of_conv(&forward, inputs, ret_window, &err) == 0 &&
           request_pad(ret_window, false, ret_geometry);
}

static const struct schedule_slot *slot_of(const struct schedule *schedule, int slot) {
    return &schedule->slots[slot];
}

static const struct shape *shape_of(const struct schedule *schedule, int slot) {
    return &schedule->slots[slot].shape;
}

// The operands of a forward convolution; bias NULL: none.
struct conv_operands {
    const dnnl_memory_desc_t *x, *weights, *bias, *y;
};

static bool add_hint(struct request *request, dnnl_alg_kind_t algorithm,
                     const struct conv_operands *conv, const struct request_padding *g) {
    request->has_hint = true;
    return dnnl.dilated_convolution_forward_desc_init(
               &request->hint, dnnl_forward_training, algorithm, conv->x, conv->weights, conv->bias,
               conv->y, g->strides, g->dilations, g->pads_begin, g->pads_end) == dnnl_success;
}

// (dy, shape of x, w) -> dx
bool request_conv_gradient_input(const struct schedule *schedule, const struct step *step,
                                 struct request *ret_request) {
    const struct shape *w = shape_of(schedule, step->inputs[2]);
    const struct shape *dx = shape_of(schedule, step->outputs[0]);
    struct window window;
    struct request_padding g;
    if (!read_conv(step, dx, w, &window, &g)) {
        return false;
    }
    struct request *request = ret_request;
    dnnl_alg_kind_t algorithm;
    request_begin(request);
    if (!request_algorithm(request, &window, slot_of(schedule, step->inputs[2]), &algorithm)) {
        return false;
    }
    dnnl_memory_desc_t y =
        request_add_activation(request, DNNL_ARG_DIFF_DST, 0, slot_of(schedule, step->inputs[0]));
    dnnl_memory_desc_t x = request_add_activation(request, DNNL_ARG_DIFF_SRC, REQUEST_OUTPUT,
                                                  slot_of(schedule, step->outputs[0]));
    dnnl_memory_desc_t weights =
        request_any(request_add_weights(request, DNNL_ARG_WEIGHTS, 2, w, &window, false));
    const struct conv_operands conv = {.x = &x, .weights = &weights, .y = &y};
    return add_hint(request, algorithm, &conv, &g) &&
           dnnl.dilated_convolution_backward_data_desc_init(
               &request->description.conv, algorithm, &x, &weights, &y, g.strides, g.dilations,
               g.pads_begin, g.pads_end) == dnnl_success;
}

// (dy, shape of w, x) -> dw [, dbias]
bool request_conv_gradient_weights(const struct schedule *schedule, const struct step *step,
                                   struct request *ret_request) {
    const struct shape *dy = shape_of(schedule, step->inputs[0]);
    const struct shape *x = shape_of(schedule, step->inputs[2]);
    const struct shape *dw = shape_of(schedule, step->outputs[0]);
    struct window window;
    struct request_padding g;
    if (!read_conv(step, x, dw, &window, &g)) {
        return false;
    }
    struct request *request = ret_request;
    dnnl_alg_kind_t algorithm;
    request_begin(request);
    if (!request_algorithm(request, &window, slot_of(schedule, step->outputs[0]), &algorithm)) {
        return false;
    }
    dnnl_memory_desc_t y =
        request_add_activation(request, DNNL_ARG_DIFF_DST, 0, slot_of(schedule, step->inputs[0]));
    dnnl_memory_desc_t in =
        request_add_activation(request, DNNL_ARG_SRC, 2, slot_of(schedule, step->inputs[2]));
    dnnl_memory_desc_t weights = request_any(
        request_add_weights(request, DNNL_ARG_DIFF_WEIGHTS, REQUEST_OUTPUT, dw, &window, false));
    const dnnl_memory_desc_t *bias = NULL;
    if (step->output_count > 1 && step->outputs[1] >= 0) {
        bias = request_add(request, DNNL_ARG_DIFF_BIAS, REQUEST_OUTPUT - 1, 1, &dy->dims[1], NULL);
    }
    const struct conv_operands conv = {.x = &in, .weights = &weights, .bias = bias, .y = &y};
    return add_hint(request, algorithm, &conv, &g) &&
           dnnl.dilated_convolution_backward_weights_desc_init(
               &request->description.conv, algorithm, &in, &weights, bias, &y, g.strides,
               g.dilations, g.pads_begin, g.pads_end) == dnnl_success;
}
