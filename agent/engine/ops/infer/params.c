// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/infer/params.h"

#include <string.h>

const struct fact *param_input(const struct node *node, const struct fact *const *inputs,
                               int index) {
    return index >= 0 && index < node->input_count ? inputs[index] : NULL;
}

int param_integers(const struct fact *fact, const char *what, int64_t *ret_values, int room,
                   int *ret_count, struct error *err) {
    int64_t count = shape_count(&fact->shape);
    if (!fact->known) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "%s is computed from the data during the run; it must follow from "
                         "constants and shapes",
                         what);
    }
    if ((fact->type != TENSOR_INT64 && fact->type != TENSOR_INT32) || fact->shape.rank > 1 ||
        count > room) {
        return error_set(err, ERROR_INVALID, "%s must be a list of at most %d integers", what,
                         room);
    }
    for (int64_t i = 0; i < count; i++) {
        ret_values[i] = fact->type == TENSOR_INT64 ? ((const int64_t *)fact->known)[i]
                                                   : ((const int32_t *)fact->known)[i];
    }
    *ret_count = (int)count;
    return 0;
}

int param_read_list(const struct node *node, const struct fact *const *inputs, const char *name,
                    int index, struct param_list *ret_list, struct error *err) {
    size_t count;
    const int64_t *values = node_integers(node, name, &count);
    const struct fact *fact = param_input(node, inputs, index);
    if (values && count > PARAM_LIST_MAX) {
        return error_set(err, ERROR_INVALID,
                         "attribute \"%s\" has %zu numbers, at most %d are supported", name, count,
                         PARAM_LIST_MAX);
    }
    if (values) {
        memcpy(ret_list->values, values, count * sizeof *values);
        ret_list->count = (int)count;
        return 0;
    }
    ret_list->count = -1;
    return fact
               ? param_integers(fact, name, ret_list->values, PARAM_LIST_MAX, &ret_list->count, err)
               : 0;
}

int param_axis(int64_t axis, int rank, int *ret_axis, struct error *err) {
    if (axis < -rank || axis >= rank) {
        return error_set(err, ERROR_INVALID, "axis %lld; its input has %d dimensions",
                         (long long)axis, rank);
    }
    *ret_axis = (int)(axis < 0 ? axis + rank : axis);
    return 0;
}

int param_axes(int64_t *axes, int count, int rank, bool *ret_is_axis, struct error *err) {
    memset(ret_is_axis, 0, (size_t)rank * sizeof *ret_is_axis);
    for (int i = 0; i < count; i++) {
        int axis = 0;
        if (param_axis(axes[i], rank, &axis, err) < 0) {
            return -1;
        }
        if (ret_is_axis[axis]) {
            return error_set(err, ERROR_INVALID, "axis %d is named twice", axis);
        }
        ret_is_axis[axis] = true;
        axes[i] = axis;
    }
    return 0;
}

struct around param_around_axis(const struct shape *shape, int64_t axis) {
    axis = axis < 0 ? axis + shape->rank : axis;
    struct around around = {1, 1, 1};
    for (int i = 0; i < shape->rank; i++) {
        *(i < axis ? &around.outer : i == axis ? &around.size : &around.inner) *= shape->dims[i];
    }
    return around;
}

int param_rank(const struct fact *fact, int index, int low, int high, struct error *err) {
    if (fact->shape.rank < low || fact->shape.rank > high) {
        char text[128];
        shape_format(&fact->shape, text);
        return error_set(err, ERROR_INVALID,
                         "input %d has shape %s, %d to %d dimensions are expected", index, text,
                         low, high);
    }
    return 0;
}

int param_type(int64_t onnx_type, enum tensor_type *ret_type, struct error *err) {
    return tensor_type_from_onnx(onnx_type, ret_type)
               ? 0
               : error_set(err, ERROR_UNSUPPORTED, "ONNX's type %lld is not supported",
                           (long long)onnx_type);
}

int infer_same(const struct node *node UNUSED, const struct fact *const *inputs,
               struct fact *outputs, struct error *err UNUSED) {
    outputs[0].shape = inputs[0]->shape;
    return 0;
}

int infer_expanded(const struct node *node, const struct fact *const *inputs UNUSED,
                   struct fact *outputs UNUSED, struct error *err) {
    return error_set(err, ERROR_UNSUPPORTED, "%s of opset %d is supported for inference alone",
                     node->op->name, node->opset);
}

int infer_late(const struct node *node UNUSED, const struct fact *const *inputs UNUSED,
               struct fact *outputs UNUSED, struct error *err) {
    return error_set(err, ERROR_UNSUPPORTED, "the shape of its output is known only at run time");
}
