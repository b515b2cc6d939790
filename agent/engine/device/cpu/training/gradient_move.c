// SPDX-License-Identifier: Apache-2.0
/* Gradients of operators whose output elements are each one element of x, or none (padding).
 * Running the forward kernel on the indices of the elements shows which one. */
#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/reference.h"
#include "agent/engine/ops/infer/internal.h"
#include "agent/engine/ops/table.h"

#include <string.h>

enum { INPUTS_MAX = 8 };

/* Runs the forward node on x = 1, 2, 3, ...; a 0 in the result is not an element of x. */
static int find_places(const struct call *call, const struct tensor *x, struct tensor *places,
                       struct error *err) {
    struct node forward = op_forward_node(call->node);
    struct attribute attributes[16];
    const struct tensor *inputs[INPUTS_MAX] = {x};
    struct tensor *outputs[] = {places};
    bool is_pad = forward.op->id == OP_PAD; /* also where it wraps */
    /* Without the pad's value, so that it is 0: not an element. */
    forward.input_count = MIN(call->input_count - 1, INPUTS_MAX);
    for (int i = 1; i < forward.input_count; i++) {
        inputs[i] = is_pad && i == 2 ? NULL : call->inputs[i + 1];
    }
    size_t count = 0;
    for (size_t i = 0; i < forward.attribute_count && count < ARRAY_LEN(attributes); i++) {
        if (!is_pad || strcmp(forward.attributes[i].name, "value") != 0) {
            attributes[count++] = forward.attributes[i];
        }
    }
    forward.attributes = attributes;
    forward.attribute_count = count;
    const struct call asked = {.device = call->device,
                               .node = &forward,
                               .input_count = forward.input_count,
                               .output_count = 1,
                               .inputs = inputs,
                               .outputs = outputs};
    return reference_kernels[forward.op->id]->run(&asked, err);
}

/* (dy, shape of x, the forward node's further inputs) */
static int move_gradient_run(const struct call *call, struct error *err) {
    const struct tensor *dy = call->inputs[0], *dx = call->outputs[0];
    int64_t count = shape_count(&dx->shape), outputs = shape_count(&dy->shape);
    struct tensor x = {0}, places = {0};
    if (count >= INT32_MAX) {
        return error_set(err, ERROR_UNSUPPORTED, "%lld elements: less than 2^31 are supported",
                         (long long)count);
    }
    int result = tensor_init(&x, TENSOR_INT32, &dx->shape, err);
    result = result < 0 ? -1 : tensor_init(&places, TENSOR_INT32, &dy->shape, err);
    for (int64_t i = 0; result == 0 && i < count; i++) {
        ((int32_t *)x.data)[i] = (int32_t)i + 1;
    }
    result = result < 0 || outputs == 0 ? result : find_places(call, &x, &places, err);
    if (result == 0) {
        memset(dx->data, 0, (size_t)count * sizeof(float));
    }
    for (int64_t i = 0; result == 0 && i < outputs; i++) {
        int32_t place = ((const int32_t *)places.data)[i];
        if (place > 0) {
            ((float *)dx->data)[place - 1] += ((const float *)dy->data)[i];
        }
    }
    tensor_release(&x);
    tensor_release(&places);
    return result;
}
const struct kernel reference_move_gradient = {"reference move_gradient", move_gradient_run};
