// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/bytes.h"

struct pixel_conversion bytes_params(const struct node *node) {
    struct pixel_conversion bytes = {.is_bgr = node_integer(node, "turned", 0) != 0};
    const struct attribute *scale = node_attribute(node, "scale");
    const struct attribute *shift = node_attribute(node, "shift");
    for (size_t i = 0; i < 3; i++) {
        bytes.scale[i] = scale && i < scale->count ? scale->numbers[i] : 1;
        bytes.shift[i] = shift && i < shift->count ? shift->numbers[i] : 0;
    }
    return bytes;
}

int infer_from_bytes(const struct node *node UNUSED, const struct fact *const *inputs,
                     struct fact *outputs, struct error *err) {
    const struct shape *x = &inputs[0]->shape;
    if (inputs[0]->type != TENSOR_UINT8 || x->rank != 4 || x->dims[3] != 3) {
        return error_set(err, ERROR_INVALID, "uint8 [n, h, w, 3] is expected");
    }
    outputs[0].type = TENSOR_FLOAT32;
    outputs[0].shape = (struct shape){4, {x->dims[0], 3, x->dims[1], x->dims[2]}};
    return 0;
}

int infer_to_bytes(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                   struct error *err) {
    const struct shape *x = &inputs[0]->shape;
    if (x->rank != 4 || x->dims[1] != 3) {
        return error_set(err, ERROR_INVALID, "float32 [n, 3, h, w] is expected");
    }
    outputs[0].type = TENSOR_UINT8;
    outputs[0].shape = (struct shape){4, {x->dims[0], x->dims[2], x->dims[3], 3}};
    if (node->output_count > 1) {
        outputs[1].type = TENSOR_INT32;
        outputs[1].shape = (struct shape){2, {x->dims[0], x->dims[2]}};
    }
    return 0;
}
