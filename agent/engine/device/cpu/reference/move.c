// SPDX-License-Identifier: Apache-2.0
/* Operators that move elements: Concat, Split, Slice, Transpose, Expand, Gather, Pad ... */
#include "agent/engine/ops/infer/move.h"

#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/reference.h"
#include "agent/engine/device/cpu/reference/walk.h"
#include "agent/engine/ops/infer/elementwise.h"
#include "agent/engine/ops/infer/params.h"

#include <stdlib.h>
#include <string.h>

static int64_t axis_of(const struct call *call) {
    int64_t axis = node_integer(call->node, "axis", 0);
    return axis < 0 ? axis + call->inputs[0]->shape.rank : axis;
}

/* Concat and Split: pieces of a tensor along an axis. */
static void copy_piece(char *whole, int64_t whole_size, char *piece, int64_t piece_size,
                       int64_t count, bool into_whole) {
    for (int64_t i = 0; i < count && piece_size; i++) {
        memcpy(into_whole ? whole + i * whole_size : piece + i * piece_size,
               into_whole ? piece + i * piece_size : whole + i * whole_size, (size_t)piece_size);
    }
}

static int concat_run(const struct call *call, struct error *err UNUSED) {
    const struct tensor *y = call->outputs[0];
    int64_t axis = axis_of(call), done = 0, size = (int64_t)tensor_type_size(y->type);
    struct around around = param_around_axis(&y->shape, axis);
    for (int i = 0; i < call->input_count; i++) {
        int64_t piece = call->inputs[i]->shape.dims[axis] * around.inner * size;
        copy_piece((char *)y->data + done, around.size * around.inner * size, call->inputs[i]->data,
                   piece, around.outer, true);
        done += piece;
    }
    return 0;
}
const struct kernel reference_concat = {"reference concat", concat_run};

static int split_run(const struct call *call, struct error *err UNUSED) {
    const struct tensor *x = call->inputs[0];
    int64_t axis = axis_of(call), done = 0, size = (int64_t)tensor_type_size(x->type);
    struct around around = param_around_axis(&x->shape, axis);
    for (int i = 0; i < call->output_count; i++) {
        int64_t piece = call->outputs[i]->shape.dims[axis] * around.inner * size;
        copy_piece((char *)x->data + done, around.size * around.inner * size,
                   call->outputs[i]->data, piece, around.outer, false);
        done += piece;
    }
    return 0;
}
const struct kernel reference_split = {"reference split", split_run};

static int slice_run(const struct call *call, struct error *err) {
    struct cpu_call_facts facts = {0};
    const struct tensor *x = call->inputs[0];
    struct walk walk = {.shape = call->outputs[0]->shape, .operand_count = 2};
    struct slice slice;
    if (slice_params(call->node, cpu_call_collect_facts(call, &facts), &slice, err) < 0) {
        return -1;
    }
    walk_plain_strides(&x->shape, walk.strides[0]);
    walk_plain_strides(&walk.shape, walk.strides[1]);
    for (int i = 0; i < walk.shape.rank; i++) {
        walk.start[0] += slice.start[i] * walk.strides[0][i];
        walk.strides[0][i] = slice.size[i] > 1 ? walk.strides[0][i] * slice.step[i] : 0;
    }
    walk_copy(&walk, tensor_type_size(x->type), x->data, call->outputs[0]->data);
    return 0;
}
const struct kernel reference_slice = {"reference slice", slice_run};

static int transpose_run(const struct call *call, struct error *err) {
    const struct tensor *x = call->inputs[0];
    struct walk walk = {.shape = call->outputs[0]->shape, .operand_count = 2};
    int order[TENSOR_RANK_MAX];
    int64_t strides[TENSOR_RANK_MAX];
    if (move_transpose_order(call->node, x->shape.rank, order, err) < 0) {
        return -1;
    }
    walk_plain_strides(&x->shape, strides);
    walk_plain_strides(&walk.shape, walk.strides[1]);
    for (int i = 0; i < walk.shape.rank; i++) {
        walk.strides[0][i] = strides[order[i]];
    }
    walk_copy(&walk, tensor_type_size(x->type), x->data, call->outputs[0]->data);
    return 0;
}
const struct kernel reference_transpose = {"reference transpose", transpose_run};

static int expand_run(const struct call *call, struct error *err UNUSED) {
    const struct tensor *x = call->inputs[0];
    struct walk walk = {.shape = call->outputs[0]->shape, .operand_count = 2};
    elementwise_broadcast_strides(&x->shape, &walk.shape, walk.strides[0]);
    walk_plain_strides(&walk.shape, walk.strides[1]);
    walk_copy(&walk, tensor_type_size(x->type), x->data, call->outputs[0]->data);
    return 0;
}
const struct kernel reference_expand = {"reference expand", expand_run};

/* Pad and Tile: each output index of a dimension is an input index (or -1: the constant). */
static int64_t padded_pixel(const struct pad *pad, int axis, int64_t i, int64_t size) {
    i -= pad->begin[axis];
    if (i >= 0 && i < size) {
        return i;
    }
    switch (pad->mode) {
    case PAD_REFLECT:
        return i < 0 ? -i : 2 * (size - 1) - i;
    case PAD_EDGE:
        return i < 0 ? 0 : size - 1;
    case PAD_WRAP:
        return (i % size + size) % size;
    default:
        return -1;
    }
}

struct lookup {
    int64_t *offsets[TENSOR_RANK_MAX]; /* element offsets in x per output index; -1: none */
};

static void copy_looked_up(const struct lookup *lookup, const struct tensor *x,
                           const struct tensor *y, const void *fill) {
    int64_t at[TENSOR_RANK_MAX] = {0}, count = shape_count(&y->shape);
    size_t size = tensor_type_size(y->type);
    for (int64_t n = 0; n < count; n++) {
        int64_t from = 0;
        for (int i = 0; i < y->shape.rank && from >= 0; i++) {
            int64_t part = lookup->offsets[i][at[i]];
            from = part < 0 ? -1 : from + part;
        }
        memcpy((char *)y->data + (size_t)n * size,
               from < 0 ? (const char *)fill : (const char *)x->data + (size_t)from * size, size);
        for (int i = y->shape.rank - 1; i >= 0 && ++at[i] == y->shape.dims[i]; i--) {
            at[i] = 0;
        }
    }
}

static int pad_run(const struct call *call, struct error *err) {
    struct cpu_call_facts facts = {0};
    const struct tensor *x = call->inputs[0], *y = call->outputs[0];
    struct pad pad;
    struct lookup lookup;
    struct arena arena = {0};
    int64_t strides[TENSOR_RANK_MAX], zero = 0;
    if (pad_params(call->node, cpu_call_collect_facts(call, &facts), &pad, err) < 0) {
        return -1;
    }
    const void *fill = call->node->opset < 11                             ? (const void *)&pad.value
                       : call->input_count > 2 && call->inputs[2] != NULL ? call->inputs[2]->data
                                                                          : &zero;
    walk_plain_strides(&x->shape, strides);
    for (int i = 0; i < y->shape.rank; i++) {
        lookup.offsets[i] = arena_array(&arena, (size_t)y->shape.dims[i], sizeof(int64_t));
        for (int64_t k = 0; k < y->shape.dims[i]; k++) {
            int64_t pixel = padded_pixel(&pad, i, k, x->shape.dims[i]);
            lookup.offsets[i][k] = pixel < 0 ? -1 : pixel * strides[i];
        }
    }
    copy_looked_up(&lookup, x, y, fill);
    arena_release(&arena);
    return 0;
}
const struct kernel reference_pad = {"reference pad", pad_run};

static int tile_run(const struct call *call, struct error *err UNUSED) {
    const struct tensor *x = call->inputs[0], *y = call->outputs[0];
    struct lookup lookup;
    struct arena arena = {0};
    int64_t strides[TENSOR_RANK_MAX];
    walk_plain_strides(&x->shape, strides);
    for (int i = 0; i < y->shape.rank; i++) {
        lookup.offsets[i] = arena_array(&arena, (size_t)y->shape.dims[i], sizeof(int64_t));
        for (int64_t k = 0; k < y->shape.dims[i]; k++) {
            lookup.offsets[i][k] = k % x->shape.dims[i] * strides[i];
        }
    }
    copy_looked_up(&lookup, x, y, NULL);
    arena_release(&arena);
    return 0;
}
const struct kernel reference_tile = {"reference tile", tile_run};

static int gather_run(const struct call *call, struct error *err) {
    const struct tensor *x = call->inputs[0], *indices = call->inputs[1];
    struct around around = param_around_axis(&x->shape, axis_of(call));
    int64_t size = around.size, count = shape_count(&indices->shape);
    int64_t least = node_integer(call->node, PARAM_ARE_IDS, 0) ? 0 : -size;
    size_t row = (size_t)around.inner * tensor_type_size(x->type);
    char *to = call->outputs[0]->data;
    for (int64_t o = 0; o < around.outer; o++) {
        for (int64_t i = 0; i < count; i++, to += row) {
            int64_t index = (int64_t)tensor_whole(indices, i);
            if (index < least || index >= size) {
                return error_set(err, ERROR_INVALID, "index %lld is out of range for %lld elements",
                                 (long long)index, (long long)size);
            }
            index = index < 0 ? index + size : index;
            if (row) {
                memcpy(to, (const char *)x->data + (size_t)(o * size + index) * row, row);
            }
        }
    }
    return 0;
}
const struct kernel reference_gather = {"reference gather", gather_run};

/* Both walk over six dimensions, with separate ones for the sides of a block. `deep` is the tensor
 * with the many channels, [n, blocks and c, h, w]; `wide` the other, [n, c, h, by, w, bx]. */
static void block_copy(const struct call *call, const struct tensor *deep, bool blocks_first,
                       bool from_deep) {
    int64_t block = node_integer(call->node, "blocksize", 1);
    const int64_t *d = deep->shape.dims;
    int64_t c = d[1] / (block * block), h = d[2], w = d[3];
    struct walk walk = {.shape = {6, {d[0], c, h, block, w, block}}, .operand_count = 2};
    int64_t *deep_strides = walk.strides[from_deep ? 0 : 1];
    walk_plain_strides(&walk.shape, walk.strides[from_deep ? 1 : 0]);
    int64_t plane = h * w;
    int64_t c_stride = blocks_first ? plane : block * block * plane;
    int64_t y_stride = blocks_first ? block * c * plane : block * plane;
    int64_t x_stride = blocks_first ? c * plane : plane;
    const int64_t strides[] = {d[1] * plane, c_stride, w, y_stride, 1, x_stride};
    memcpy(deep_strides, strides, sizeof strides);
    walk_copy(&walk, tensor_type_size(deep->type), call->inputs[0]->data, call->outputs[0]->data);
}

static int depth_to_space_run(const struct call *call, struct error *err UNUSED) {
    bool blocks_first = strcmp(node_text(call->node, "mode", "DCR"), "DCR") == 0;
    block_copy(call, call->inputs[0], blocks_first, true);
    return 0;
}
const struct kernel reference_depth_to_space = {"reference depth_to_space", depth_to_space_run};

static int space_to_depth_run(const struct call *call, struct error *err UNUSED) {
    block_copy(call, call->outputs[0], true, false);
    return 0;
}
const struct kernel reference_space_to_depth = {"reference space_to_depth", space_to_depth_run};
