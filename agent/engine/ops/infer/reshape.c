// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/infer/reshape.h"

#include "agent/engine/ops/infer/params.h"

#include <math.h>
#include <string.h>

int infer_reshape(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                  struct error *err) {
    struct shape shape = {0};
    const struct shape *x = &inputs[0]->shape;
    bool zero_is_zero = node_integer(node, "allowzero", 0);
    int free_at = -1;
    int64_t total = shape_count(x), known = 1;
    if (param_integers(inputs[1], "the shape", shape.dims, TENSOR_RANK_MAX, &shape.rank, err) < 0) {
        return -1;
    }
    for (int i = 0; i < shape.rank; i++) {
        int64_t size = shape.dims[i];
        if (size < -1 || (size == -1 && free_at >= 0) ||
            (size == 0 && !zero_is_zero && i >= x->rank)) {
            return error_set(err, ERROR_INVALID, "the new shape has %lld in place %d",
                             (long long)size, i);
        }
        if (size == 0 && !zero_is_zero) {
            shape.dims[i] = x->dims[i];
        }
        free_at = size == -1 ? i : free_at;
        if (size != -1 && __builtin_mul_overflow(known, shape.dims[i], &known)) {
            return error_set(err, ERROR_INVALID, "the new shape is too large");
        }
    }
    if (free_at >= 0) {
        shape.dims[free_at] = known > 0 ? total / known : 0;
    }
    if (shape_count(&shape) != total) {
        char from[128], to[128];
        shape_format(x, from);
        shape_format(&shape, to);
        return error_set(err, ERROR_INVALID, "shape %s cannot become %s", from, to);
    }
    outputs[0].shape = shape;
    return 0;
}

int infer_flatten(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                  struct error *err) {
    const struct shape *x = &inputs[0]->shape;
    int64_t axis = node_integer(node, "axis", 1);
    if (axis < -x->rank || axis > x->rank) {
        return error_set(err, ERROR_INVALID, "axis %lld; its input has %d dimensions",
                         (long long)axis, x->rank);
    }
    axis = axis < 0 ? axis + x->rank : axis;
    outputs[0].shape = (struct shape){2, {1, 1}};
    for (int i = 0; i < x->rank; i++) {
        outputs[0].shape.dims[i >= axis] *= x->dims[i];
    }
    return 0;
}

int infer_squeeze(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                  struct error *err) {
    const struct shape *x = &inputs[0]->shape;
    struct param_list axes;
    bool is_axis[TENSOR_RANK_MAX] = {0};
    if (param_read_list(node, inputs, "axes", 1, &axes, err) < 0 ||
        (axes.count >= 0 && param_axes(axes.values, axes.count, x->rank, is_axis, err) < 0)) {
        return -1;
    }
    struct shape shape = {0};
    for (int i = 0; i < x->rank; i++) {
        if (is_axis[i] && x->dims[i] != 1) {
            return error_set(err, ERROR_INVALID, "dimension %d has the size %lld, not 1", i,
                             (long long)x->dims[i]);
        }
        if (axes.count < 0 ? x->dims[i] != 1 : !is_axis[i]) {
            shape.dims[shape.rank++] = x->dims[i];
        }
    }
    outputs[0].shape = shape;
    return 0;
}

int infer_unsqueeze(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                    struct error *err) {
    const struct shape *x = &inputs[0]->shape;
    struct param_list axes;
    bool is_axis[TENSOR_RANK_MAX] = {0};
    if (param_read_list(node, inputs, "axes", 1, &axes, err) < 0) {
        return -1;
    }
    if (axes.count < 0 || x->rank + axes.count > TENSOR_RANK_MAX) {
        return error_set(err, ERROR_INVALID,
                         "%d axes are added to %d dimensions, at most %d in all are supported",
                         MAX(axes.count, 0), x->rank, TENSOR_RANK_MAX);
    }
    struct shape shape = {.rank = x->rank + axes.count};
    if (param_axes(axes.values, axes.count, shape.rank, is_axis, err) < 0) {
        return -1;
    }
    for (int i = 0, from = 0; i < shape.rank; i++) {
        shape.dims[i] = is_axis[i] ? 1 : x->dims[from++];
    }
    outputs[0].shape = shape;
    return 0;
}

int infer_align(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                struct error *err) {
    const struct shape *b = &inputs[0]->shape;
    int64_t rank = inputs[1]->shape.rank, axis = node_integer(node, "axis", 0);
    axis = axis < 0 ? axis + rank : axis;
    outputs[0].shape = *b;
    if (shape_count(b) == 1 && b->rank <= rank) {
        return 0;
    }
    if (axis < 0 || axis > rank || axis + b->rank > rank) {
        return error_set(err, ERROR_INVALID,
                         "%d dimensions from axis %lld on do not fit into rank %lld", b->rank,
                         (long long)axis, (long long)rank);
    }
    while (axis + outputs[0].shape.rank < rank) {
        outputs[0].shape.dims[outputs[0].shape.rank++] = 1;
    }
    return 0;
}

/* Whether this known number is 0; its type is one of floats. */
static bool is_known_zero(const struct fact *fact) {
    static const char zeros[8] = {0};
    return fact && fact->known && shape_count(&fact->shape) == 1 &&
           memcmp(fact->known, zeros, tensor_type_size(fact->type)) == 0;
}

/* In training mode nothing is dropped, either, if the ratio is 0: exporters write such nodes. */
int infer_dropout(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                  struct error *err) {
    const struct fact *training = param_input(node, inputs, 2);
    if (!is_known_zero(param_input(node, inputs, 1)) && training &&
        (!training->known || training->type != TENSOR_BOOL || shape_count(&training->shape) != 1 ||
         *(const uint8_t *)training->known)) {
        return error_set(err, ERROR_UNSUPPORTED, "the training mode is not supported");
    }
    if (node->output_count > 1) {
        outputs[1] = (struct fact){.type = TENSOR_BOOL, .shape = inputs[0]->shape};
    }
    return infer_same(node, inputs, outputs, err);
}

static int64_t clamp_axis(int64_t axis, int rank) {
    axis = axis < -rank ? 0 : axis < 0 ? axis + rank : axis;
    return MIN(axis, rank);
}

void reshape_shape_range(const struct node *node, int rank, int *ret_start, int *ret_end) {
    *ret_start = (int)clamp_axis(node_integer(node, "start", 0), rank);
    *ret_end = (int)clamp_axis(node_integer(node, "end", rank), rank);
    *ret_end = MAX(*ret_start, *ret_end);
}

int infer_shape(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                struct error *err UNUSED) {
    int start, end;
    reshape_shape_range(node, inputs[0]->shape.rank, &start, &end);
    outputs[0].type = TENSOR_INT64;
    outputs[0].shape = (struct shape){1, {end - start}};
    return 0;
}

int infer_size(const struct node *node UNUSED, const struct fact *const *inputs UNUSED,
               struct fact *outputs, struct error *err UNUSED) {
    outputs[0].type = TENSOR_INT64;
    outputs[0].shape = (struct shape){0};
    return 0;
}

int infer_constant_of_shape(const struct node *node, const struct fact *const *inputs,
                            struct fact *outputs, struct error *err) {
    const struct attribute *value = node_attribute(node, "value");
    struct shape *shape = &outputs[0].shape;
    if (value && shape_count(&value->tensor.shape) != 1) {
        return error_set(err, ERROR_INVALID, "attribute \"value\" must be one number");
    }
    outputs[0].type = value ? value->tensor.type : TENSOR_FLOAT32;
    if (param_integers(inputs[0], "the shape", shape->dims, TENSOR_RANK_MAX, &shape->rank, err) <
        0) {
        return -1;
    }
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dims[i] < 0) {
            return error_set(err, ERROR_INVALID, "the size is %lld, expected 0 or more",
                             (long long)shape->dims[i]);
        }
    }
    return 0;
}

static double scalar(const struct fact *fact) {
    struct tensor tensor = {fact->type, fact->shape, (void *)(uintptr_t)fact->known, false};
    return tensor_number(&tensor, 0);
}

int infer_range(const struct node *node UNUSED, const struct fact *const *inputs,
                struct fact *outputs, struct error *err) {
    for (int i = 0; i < 3; i++) {
        if (!inputs[i]->known) {
            return error_set(err, ERROR_UNSUPPORTED, "its bounds are computed during the run");
        }
        if (shape_count(&inputs[i]->shape) != 1) {
            return error_set(err, ERROR_INVALID, "input %d must be one number", i);
        }
    }
    double count = ceil((scalar(inputs[1]) - scalar(inputs[0])) / scalar(inputs[2]));
    if (!(fabs(count) <= 1e12)) {
        return error_set(err, ERROR_INVALID, "it would have %g elements", count);
    }
    outputs[0].shape = (struct shape){1, {(int64_t)fmax(count, 0)}};
    return 0;
}
