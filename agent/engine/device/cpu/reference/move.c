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
