// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/infer/pick.h"

#include "agent/engine/ops/infer/params.h"

#include <math.h>
#include <string.h>

static int check_indices(const struct fact *indices, struct error *err) {
    return indices->type == TENSOR_INT64 || indices->type == TENSOR_INT32
               ? 0
               : error_set(err, ERROR_INVALID, "indices must be integers");
}

static int mismatch(const struct shape *a, const struct shape *b, struct error *err) {
    char text[128], other[128];
    shape_format(a, text);
    shape_format(b, other);
    return error_set(err, ERROR_INVALID, "shapes %s and %s are incompatible", text, other);
}

/* Except along the axis, no dimension of the indices is larger than that of x. */
static int check_elements(const struct node *node, const struct fact *const *inputs,
                          struct error *err) {
    const struct shape *x = &inputs[0]->shape, *indices = &inputs[1]->shape;
    int axis;
    if (check_indices(inputs[1], err) < 0 ||
        param_axis(node_integer(node, "axis", 0), x->rank, &axis, err) < 0) {
        return -1;
    }
    bool fits = indices->rank == x->rank;
    for (int i = 0; fits && i < x->rank; i++) {
        fits = i == axis || indices->dims[i] <= x->dims[i];
    }
    return fits ? 0 : mismatch(x, indices, err);
}

int infer_gather_elements(const struct node *node, const struct fact *const *inputs,
                          struct fact *outputs, struct error *err) {
    outputs[0].shape = inputs[1]->shape;
    return check_elements(node, inputs, err);
}

/* Sums and products support few types. */
static int check_reduction(const struct node *node, const struct fact *data, struct error *err) {
    bool takes =
        data->type == TENSOR_FLOAT32 || data->type == TENSOR_INT64 || data->type == TENSOR_INT32;
    const char *reduction = node_text(node, "reduction", "none");
    return takes || strcmp(reduction, "none") == 0
               ? 0
               : error_set(err, ERROR_UNSUPPORTED, "reduction \"%s\" of %s is not supported",
                           reduction, tensor_type_name(data->type));
}

int infer_scatter_elements(const struct node *node, const struct fact *const *inputs,
                           struct fact *outputs, struct error *err) {
    if (check_elements(node, inputs, err) < 0 || check_reduction(node, inputs[0], err) < 0) {
        return -1;
    }
    if (inputs[2]->type != inputs[0]->type || !shape_equal(&inputs[1]->shape, &inputs[2]->shape)) {
        return error_set(err, ERROR_INVALID,
                         "updates must have the shape of the indices and the type of the data");
    }
    return infer_same(node, inputs, outputs, err);
}

/* The last dimension of indices is a place in x; the remaining dimensions of x are one slice. */
static int read_tuple(const struct shape *x, const struct shape *indices, int64_t batch_dims,
                      int *ret_tuple, struct error *err) {
    int64_t tuple = indices->rank ? indices->dims[indices->rank - 1] : 0;
    if (batch_dims < 0 || batch_dims >= MIN(x->rank, indices->rank) || tuple < 1 ||
        tuple > x->rank - batch_dims ||
        memcmp(x->dims, indices->dims, (size_t)batch_dims * sizeof *x->dims) != 0) {
        return mismatch(x, indices, err);
    }
    *ret_tuple = (int)tuple;
    return 0;
}

/* The shape: the dimensions of indices except the last, then those of a slice of x. */
static int picked_shape(const struct shape *x, const struct shape *indices, int from,
                        struct shape *ret_shape, struct error *err) {
    struct shape shape = {.rank = indices->rank - 1 + x->rank - from};
    if (shape.rank > TENSOR_RANK_MAX) {
        return error_set(err, ERROR_UNSUPPORTED, "an output of more than %d dimensions",
                         TENSOR_RANK_MAX);
    }
    memcpy(shape.dims, indices->dims, (size_t)(indices->rank - 1) * sizeof *shape.dims);
    memcpy(shape.dims + indices->rank - 1, x->dims + from,
           (size_t)(x->rank - from) * sizeof *shape.dims);
    *ret_shape = shape;
    return 0;
}

int infer_gather_nd(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                    struct error *err) {
    const struct shape *x = &inputs[0]->shape, *indices = &inputs[1]->shape;
    int64_t batch_dims = node_integer(node, "batch_dims", 0);
    int tuple;
    if (check_indices(inputs[1], err) < 0 || read_tuple(x, indices, batch_dims, &tuple, err) < 0) {
        return -1;
    }
    return picked_shape(x, indices, (int)batch_dims + tuple, &outputs[0].shape, err);
}

int infer_scatter_nd(const struct node *node, const struct fact *const *inputs,
                     struct fact *outputs, struct error *err) {
    const struct shape *x = &inputs[0]->shape, *indices = &inputs[1]->shape;
    struct shape wanted;
    int tuple;
    if (check_indices(inputs[1], err) < 0 || read_tuple(x, indices, 0, &tuple, err) < 0 ||
        picked_shape(x, indices, tuple, &wanted, err) < 0 ||
        check_reduction(node, inputs[0], err) < 0) {
        return -1;
    }
    if (inputs[2]->type != inputs[0]->type) {
        return error_set(err, ERROR_INVALID, "updates must be of the data's type");
    }
    return shape_equal(&wanted, &inputs[2]->shape) ? infer_same(node, inputs, outputs, err)
                                                   : mismatch(&wanted, &inputs[2]->shape, err);
}

/* Reads one number of any type that depth may have. */
static int read_depth(const struct fact *fact, int64_t *ret_depth, struct error *err) {
    double depth = -1;
    if (!fact->known) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "the depth is computed from the data during the run; it must follow from "
                         "constants and shapes");
    }
    if (shape_count(&fact->shape) == 1) {
        struct tensor tensor = {fact->type, fact->shape, (void *)(uintptr_t)fact->known, false};
        depth = tensor_number(&tensor, 0);
    }
    if (!(depth >= 1 && depth <= 0x1p40 && depth == floor(depth))) {
        return error_set(err, ERROR_INVALID, "the depth must be a whole number, 1 at least");
    }
    *ret_depth = (int64_t)depth;
    return 0;
}

int infer_one_hot(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                  struct error *err) {
    const struct shape *indices = &inputs[0]->shape;
    struct shape shape = {.rank = indices->rank + 1};
    int64_t depth = 0;
    int axis;
    if (shape.rank > TENSOR_RANK_MAX) {
        return error_set(err, ERROR_UNSUPPORTED, "an output of more than %d dimensions",
                         TENSOR_RANK_MAX);
    }
    if (shape_count(&inputs[2]->shape) != 2) {
        return error_set(err, ERROR_INVALID, "values must be two: off and on");
    }
    if (read_depth(inputs[1], &depth, err) < 0 ||
        param_axis(node_integer(node, "axis", -1), shape.rank, &axis, err) < 0) {
        return -1;
    }
    for (int i = 0; i < shape.rank; i++) {
        shape.dims[i] = i == axis ? depth : indices->dims[i - (i > axis)];
    }
    outputs[0].shape = shape;
    outputs[0].type = inputs[2]->type;
    return 0;
}

int infer_reverse_sequence(const struct node *node, const struct fact *const *inputs,
                           struct fact *outputs, struct error *err) {
    const struct shape *x = &inputs[0]->shape, *lengths = &inputs[1]->shape;
    int64_t batch = node_integer(node, "batch_axis", 1), time = node_integer(node, "time_axis", 0);
    if (x->rank < 2 || batch == time || lengths->rank != 1 || lengths->dims[0] != x->dims[batch]) {
        return mismatch(x, lengths, err);
    }
    return infer_same(node, inputs, outputs, err);
}
