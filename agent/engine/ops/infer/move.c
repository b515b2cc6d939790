// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/infer/move.h"

#include "agent/engine/ops/infer/elementwise.h"
#include "agent/engine/ops/infer/params.h"
#include "agent/engine/ops/op_id.h"

#include <string.h>

static const int64_t extent_max = (int64_t)1 << 40;

int infer_concat(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                 struct error *err) {
    int axis;
    struct shape shape = inputs[0]->shape;
    if (!node_attribute(node, "axis")) {
        return error_set(err, ERROR_INVALID, "attribute \"axis\" is missing");
    }
    if (param_axis(node_integer(node, "axis", 0), shape.rank, &axis, err) < 0) {
        return -1;
    }
    for (int i = 1; i < node->input_count; i++) {
        if (!inputs[i]) {
            return error_set(err, ERROR_INVALID, "input %d is missing", i);
        }
        struct shape other = inputs[i]->shape;
        int64_t size = other.rank == shape.rank ? other.dims[axis] : 0;
        other.dims[axis] = shape.dims[axis];
        if (!shape_equal(&other, &shape)) {
            return error_set(err, ERROR_INVALID,
                             "input %d differs from input 0 in more than axis %d", i, axis);
        }
        shape.dims[axis] += size;
    }
    outputs[0].shape = shape;
    return 0;
}

static int split_sizes(const struct node *node, const struct fact *const *inputs, int64_t *sizes,
                       int *ret_count, struct error *err) {
    size_t count;
    const int64_t *values = node_integers(node, "split", &count);
    const struct fact *fact = param_input(node, inputs, 1);
    *ret_count = -1;
    if (values && count <= NODE_PORTS_MAX) {
        memcpy(sizes, values, count * sizeof *sizes);
        *ret_count = (int)count;
        return 0;
    }
    return fact ? param_integers(fact, "the split", sizes, NODE_PORTS_MAX, ret_count, err) : 0;
}

/* Either the sizes are given, or the number of outputs; then the last may be smaller than the
 * others. */
static int check_split_18(const struct node *node, int count, struct error *err) {
    int64_t outputs = node_integer(node, "num_outputs", 0);
    if ((count >= 0) == (outputs > 0)) {
        return error_set(err, ERROR_INVALID,
                         "either input 1 or attribute \"num_outputs\" is expected");
    }
    return count >= 0 || outputs == node->output_count
               ? 0
               : error_set(err, ERROR_INVALID,
                           "attribute \"num_outputs\" is %lld, it has %d outputs",
                           (long long)outputs, node->output_count);
}

int infer_split(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                struct error *err) {
    int axis, count;
    const struct shape *x = &inputs[0]->shape;
    int64_t sizes[NODE_PORTS_MAX];
    if (param_axis(node_integer(node, "axis", 0), x->rank, &axis, err) < 0 ||
        split_sizes(node, inputs, sizes, &count, err) < 0) {
        return -1;
    }
    int64_t total = 0, parts = node->output_count, size_of_all = x->dims[axis];
    if (node->opset >= 18 && check_split_18(node, count, err) < 0) {
        return -1;
    }
    for (int i = 0; i < parts; i++) {
        int64_t even = node->opset < 18 ? size_of_all / parts : (size_of_all + parts - 1) / parts;
        int64_t last = node->opset < 18 ? even : size_of_all - total;
        int64_t size = count > i ? sizes[i] : i == parts - 1 ? last : even;
        if (size < 0 || size > x->dims[axis]) {
            return error_set(err, ERROR_INVALID, "split: size %lld, expected 0 to %lld",
                             (long long)size, (long long)x->dims[axis]);
        }
        if (node->outputs[i] < 0) {
            return error_set(err, ERROR_UNSUPPORTED, "output %d is left out", i);
        }
        outputs[i].type = inputs[0]->type;
        outputs[i].shape = *x;
        outputs[i].shape.dims[axis] = size;
        total += size;
    }
    if ((count >= 0 && count != parts) || total != x->dims[axis]) {
        return error_set(err, ERROR_INVALID, "%lld outputs of %lld in all, the input has %lld",
                         (long long)parts, (long long)total, (long long)x->dims[axis]);
    }
    return 0;
}

static void clamp_slice(int64_t size, int64_t start, int64_t end, int64_t step, int axis,
                        struct slice *slice) {
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
    start = start < 0 ? (start < -size ? low : start + size) : start;
    end = end < 0 ? (end < -size ? low : end + size) : end;
    start = MAX(low, MIN(start, high));
    end = MAX(low, MIN(end, high));
    int64_t span = step < 0 ? start - end : end - start;
    /* A step as large as the span takes one element; larger steps are equivalent. */
    step = MAX(-extent_max, MIN(step, extent_max));
    int64_t length = step < 0 ? -step : step;
    slice->start[axis] = start;
    slice->step[axis] = step;
    slice->size[axis] = span <= 0 ? 0 : (span + length - 1) / length;
}

int slice_params(const struct node *node, const struct fact *const *inputs, struct slice *ret_slice,
                 struct error *err) {
    struct slice slice;
    int rank = inputs[0]->shape.rank;
    struct param_list starts, ends, axes, steps;
    bool is_axis[TENSOR_RANK_MAX];
    if (param_read_list(node, inputs, "starts", 1, &starts, err) < 0 ||
        param_read_list(node, inputs, "ends", 2, &ends, err) < 0 ||
        param_read_list(node, inputs, "axes", 3, &axes, err) < 0 ||
        param_read_list(node, inputs, "steps", 4, &steps, err) < 0) {
        return -1;
    }
    if (starts.count < 0 || starts.count != ends.count || starts.count > rank ||
        (axes.count >= 0 && axes.count != starts.count) ||
        (steps.count >= 0 && steps.count != starts.count)) {
        return error_set(err, ERROR_INVALID, "starts, ends, axes and steps differ in number");
    }
    for (int i = 0; axes.count < 0 && i < starts.count; i++) {
        axes.values[i] = i;
    }
    if (param_axes(axes.values, starts.count, rank, is_axis, err) < 0) {
        return -1;
    }
    for (int i = 0; i < rank; i++) {
        slice.start[i] = 0;
        slice.step[i] = 1;
        slice.size[i] = inputs[0]->shape.dims[i];
    }
    for (int i = 0; i < starts.count; i++) {
        int64_t step = steps.count < 0 ? 1 : steps.values[i];
        if (step == 0) {
            return error_set(err, ERROR_INVALID, "a step of 0");
        }
        clamp_slice(inputs[0]->shape.dims[axes.values[i]], starts.values[i], ends.values[i], step,
                    (int)axes.values[i], &slice);
    }
    *ret_slice = slice;
    return 0;
}

int infer_slice(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                struct error *err) {
    struct slice slice;
    if (slice_params(node, inputs, &slice, err) < 0) {
        return -1;
    }
    outputs[0].shape = inputs[0]->shape;
    memcpy(outputs[0].shape.dims, slice.size, sizeof slice.size[0] * (size_t)inputs[0]->shape.rank);
    return 0;
}

/* The begins, then the ends, of every dimension; 0 for dimensions that axes does not name. */
static int read_pads(const struct node *node, const struct fact *const *inputs, int64_t *ret_pads,
                     struct error *err) {
    struct param_list pads, axes;
    bool is_axis[TENSOR_RANK_MAX];
    int rank = inputs[0]->shape.rank;
    if (param_read_list(node, inputs, "pads", 1, &pads, err) < 0 ||
        param_read_list(node, inputs, "axes", 3, &axes, err) < 0) {
        return -1;
    }
    for (int i = 0; axes.count < 0 && i < rank; i++) {
        axes.values[i] = i;
    }
    axes.count = axes.count < 0 ? rank : axes.count;
    if (pads.count != 2 * axes.count) {
        return error_set(err, ERROR_INVALID,
                         "%d pads for %d dimensions, twice as many are expected",
                         MAX(pads.count, 0), axes.count);
    }
    if (axes.count > rank || param_axes(axes.values, axes.count, rank, is_axis, err) < 0) {
        return error_set(
            err, ERROR_INVALID,
            "axes: %d are listed, the input has %d dimensions, and each may be listed once",
            axes.count, rank);
    }
    memset(ret_pads, 0, PARAM_LIST_MAX * sizeof *ret_pads);
    for (int i = 0; i < axes.count; i++) {
        ret_pads[axes.values[i]] = pads.values[i];
        ret_pads[axes.values[i] + rank] = pads.values[i + axes.count];
    }
    return 0;
}

static int check_pads(const struct pad *pad, const char *mode, int64_t size, int64_t begin,
                      int64_t end, struct error *err) {
    bool grows = begin > 0 || end > 0;
    if (begin < -size || end < -size || begin > extent_max || end > extent_max ||
        size + begin + end < 0) {
        return error_set(err, ERROR_INVALID,
                         "pads %lld and %lld are out of range for a dimension of %lld",
                         (long long)begin, (long long)end, (long long)size);
    }
    if ((pad->mode == PAD_REFLECT && grows && (begin >= size || end >= size)) ||
        (pad->mode == PAD_EDGE && grows && size == 0) ||
        (pad->mode == PAD_WRAP && (begin < 0 || end < 0 || begin > size || end > size))) {
        return error_set(err, ERROR_INVALID,
                         "pads %lld and %lld are out of range for a dimension of %lld in mode %s",
                         (long long)begin, (long long)end, (long long)size, mode);
    }
    return 0;
}

/* The wanted sizes of all dimensions, or of those that axes names. */
static int center_params(const struct node *node, const struct fact *const *inputs,
                         struct pad *ret_pad, struct error *err) {
    const struct shape *x = &inputs[0]->shape;
    struct pad pad = {.mode = PAD_CONSTANT};
    struct param_list axes;
    int64_t sizes[TENSOR_RANK_MAX];
    bool is_axis[TENSOR_RANK_MAX];
    int count;
    if (param_integers(inputs[1], "the shape", sizes, TENSOR_RANK_MAX, &count, err) < 0 ||
        param_read_list(node, inputs, "axes", -1, &axes, err) < 0) {
        return -1;
    }
    for (int i = 0; axes.count < 0 && i < x->rank; i++) {
        axes.values[i] = i;
    }
    axes.count = axes.count < 0 ? x->rank : axes.count;
    if (axes.count != count || count > x->rank ||
        param_axes(axes.values, count, x->rank, is_axis, err) < 0) {
        return error_set(err, ERROR_INVALID,
                         "the shape has %d sizes, expected %d, one for each axis", count,
                         axes.count);
    }
    for (int i = 0; i < count; i++) {
        int64_t more = sizes[i] - x->dims[axes.values[i]], half = more / 2;
        if (sizes[i] < 0 || sizes[i] > extent_max) {
            return error_set(err, ERROR_INVALID, "the size is %lld, expected 0 to %lld",
                             (long long)sizes[i], (long long)extent_max);
        }
        pad.begin[axes.values[i]] = half;
        pad.end[axes.values[i]] = more - half;
    }
    *ret_pad = pad;
    return 0;
}

int pad_params(const struct node *node, const struct fact *const *inputs, struct pad *ret_pad,
               struct error *err) {
    const char *mode = node_text(node, "mode", "constant");
    struct pad pad = {.value = node_number(node, "value", 0)};
    const struct shape *x = &inputs[0]->shape;
    int64_t pads[PARAM_LIST_MAX];
    if (node->op->id == OP_CENTER_CROP_PAD) {
        return center_params(node, inputs, ret_pad, err);
    }
    pad.mode = strcmp(mode, "reflect") == 0 ? PAD_REFLECT
               : strcmp(mode, "edge") == 0  ? PAD_EDGE
               : strcmp(mode, "wrap") == 0  ? PAD_WRAP
                                            : PAD_CONSTANT;
    if (read_pads(node, inputs, pads, err) < 0) {
        return -1;
    }
    for (int i = 0; i < x->rank; i++) {
        pad.begin[i] = pads[i];
        pad.end[i] = pads[i + x->rank];
        if (check_pads(&pad, mode, x->dims[i], pad.begin[i], pad.end[i], err) < 0) {
            return -1;
        }
    }
    *ret_pad = pad;
    return 0;
}

static void set_padded(const struct fact *x, const struct pad *pad, struct fact *ret_y) {
    ret_y->shape = x->shape;
    for (int i = 0; i < x->shape.rank; i++) {
        ret_y->shape.dims[i] += pad->begin[i] + pad->end[i];
    }
}

/* Expressed as Pad, which adds zeros or removes pixels. */
int infer_center_crop_pad(const struct node *node, const struct fact *const *inputs,
                          struct fact *outputs, struct error *err) {
    struct pad pad;
    if (pad_params(node, inputs, &pad, err) < 0) {
        return -1;
    }
    set_padded(inputs[0], &pad, &outputs[0]);
    return 0;
}

int infer_pad(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
              struct error *err) {
    struct pad pad;
    const struct fact *value = param_input(node, inputs, 2);
    if (pad_params(node, inputs, &pad, err) < 0) {
        return -1;
    }
    if (pad.mode == PAD_WRAP && node->op->id != OP_PAD_WRAP) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "mode wrap is supported for inference, not for training");
    }
    if (value && (value->type != inputs[0]->type || shape_count(&value->shape) != 1)) {
        return error_set(err, ERROR_INVALID, "input 2 must be one number of the type of input 0");
    }
    set_padded(inputs[0], &pad, &outputs[0]);
    return 0;
}

int move_transpose_order(const struct node *node, int rank, int ret_order[TENSOR_RANK_MAX],
                         struct error *err) {
    size_t count;
    const int64_t *named = node_integers(node, "perm", &count);
    int64_t order[TENSOR_RANK_MAX];
    bool is_axis[TENSOR_RANK_MAX];
    if (named && count != (size_t)rank) {
        return error_set(err, ERROR_INVALID, "attribute \"perm\" has %zu numbers, %d are expected",
                         count, rank);
    }
    for (int i = 0; i < rank; i++) {
        order[i] = named ? named[i] : rank - 1 - i;
    }
    if (param_axes(order, rank, rank, is_axis, err) < 0) {
        return -1;
    }
    for (int i = 0; i < rank; i++) {
        ret_order[i] = (int)order[i];
    }
    return 0;
}

int infer_transpose(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                    struct error *err) {
    int order[TENSOR_RANK_MAX], rank = inputs[0]->shape.rank;
    if (move_transpose_order(node, rank, order, err) < 0) {
        return -1;
    }
    outputs[0].shape.rank = rank;
    for (int i = 0; i < rank; i++) {
        outputs[0].shape.dims[i] = inputs[0]->shape.dims[order[i]];
    }
    return 0;
}

int infer_gather(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                 struct error *err) {
    const struct shape *x = &inputs[0]->shape, *indices = &inputs[1]->shape;
    int axis;
    if (inputs[1]->type != TENSOR_INT64 && inputs[1]->type != TENSOR_INT32) {
        return error_set(err, ERROR_INVALID, "indices must be integers");
    }
    if (param_axis(node_integer(node, "axis", 0), x->rank, &axis, err) < 0) {
        return -1;
    }
    struct shape shape = {.rank = x->rank - 1 + indices->rank};
    if (shape.rank > TENSOR_RANK_MAX) {
        return error_set(err, ERROR_UNSUPPORTED, "an output of more than %d dimensions",
                         TENSOR_RANK_MAX);
    }
    int at = 0;
    for (int i = 0; i < axis; i++) {
        shape.dims[at++] = x->dims[i];
    }
    for (int i = 0; i < indices->rank; i++) {
        shape.dims[at++] = indices->dims[i];
    }
    for (int i = axis + 1; i < x->rank; i++) {
        shape.dims[at++] = x->dims[i];
    }
    outputs[0].shape = shape;
    return 0;
}

int infer_expand(const struct node *node UNUSED, const struct fact *const *inputs,
                 struct fact *outputs, struct error *err) {
    struct shape shape = {0};
    if (param_integers(inputs[1], "the shape", shape.dims, TENSOR_RANK_MAX, &shape.rank, err) < 0) {
        return -1;
    }
    for (int i = 0; i < shape.rank; i++) {
        if (shape.dims[i] < 0) {
            return error_set(err, ERROR_INVALID, "the size is %lld, expected 0 or more",
                             (long long)shape.dims[i]);
        }
    }
    outputs[0].shape = inputs[0]->shape;
    return elementwise_broadcast(&outputs[0].shape, &shape, err);
}

int infer_tile(const struct node *node UNUSED, const struct fact *const *inputs,
               struct fact *outputs, struct error *err) {
    int64_t repeats[TENSOR_RANK_MAX];
    int count;
    struct shape shape = inputs[0]->shape;
    if (param_integers(inputs[1], "the repeats", repeats, TENSOR_RANK_MAX, &count, err) < 0) {
        return -1;
    }
    if (count != shape.rank) {
        return error_set(err, ERROR_INVALID, "%d repeats for %d dimensions", count, shape.rank);
    }
    for (int i = 0; i < count; i++) {
        if (repeats[i] < 0 || __builtin_mul_overflow(shape.dims[i], repeats[i], &shape.dims[i])) {
            return error_set(err, ERROR_INVALID,
                             "repeats %lld is negative or makes the output too large",
                             (long long)repeats[i]);
        }
    }
    outputs[0].shape = shape;
    return 0;
}

static int read_block(const struct node *node, const struct fact *x, int64_t *ret_block,
                      struct error *err) {
    int64_t block = node_integer(node, "blocksize", 0);
    if (block < 1 || block > 4096) {
        return error_set(err, ERROR_INVALID, "attribute \"blocksize\" is %lld", (long long)block);
    }
    *ret_block = block;
    return param_rank(x, 0, 4, 4, err);
}

int infer_depth_to_space(const struct node *node, const struct fact *const *inputs,
                         struct fact *outputs, struct error *err) {
    int64_t block;
    const int64_t *x = inputs[0]->shape.dims;
    if (read_block(node, inputs[0], &block, err) < 0) {
        return -1;
    }
    if (x[1] % (block * block) != 0) {
        return error_set(err, ERROR_INVALID,
                         "%lld channels are not a multiple of the square of blocksize %lld",
                         (long long)x[1], (long long)block);
    }
    outputs[0].shape =
        (struct shape){4, {x[0], x[1] / (block * block), x[2] * block, x[3] * block}};
    return 0;
}

int infer_space_to_depth(const struct node *node, const struct fact *const *inputs,
                         struct fact *outputs, struct error *err) {
    int64_t block;
    const int64_t *x = inputs[0]->shape.dims;
    if (read_block(node, inputs[0], &block, err) < 0) {
        return -1;
    }
    if (x[2] % block != 0 || x[3] % block != 0) {
        return error_set(err, ERROR_INVALID,
                         "%lld x %lld pixels are not a multiple of blocksize %lld", (long long)x[2],
                         (long long)x[3], (long long)block);
    }
    outputs[0].shape = (struct shape){4, {x[0], x[1] * block * block, x[2] / block, x[3] / block}};
    return 0;
}
