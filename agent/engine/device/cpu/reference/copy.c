// SPDX-License-Identifier: Apache-2.0
/* Operators that copy each element from one place: Slice, Transpose, Expand, DepthToSpace and
 * SpaceToDepth. */
#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/reference.h"
#include "agent/engine/device/cpu/reference/walk.h"
#include "agent/engine/ops/infer/elementwise.h"
#include "agent/engine/ops/infer/move.h"
#include "agent/engine/ops/table.h"

#include <string.h>

static int walk_slice(const struct call *call, struct walk *walk, struct error *err) {
    struct cpu_call_facts facts = {0};
    struct slice slice;
    if (slice_params(call->node, cpu_call_collect_facts(call, &facts), &slice, err) < 0) {
        return -1;
    }
    walk_plain_strides(&call->inputs[0]->shape, walk->strides[0]);
    for (int i = 0; i < walk->shape.rank; i++) {
        walk->start[0] += slice.start[i] * walk->strides[0][i];
        walk->strides[0][i] = slice.size[i] > 1 ? walk->strides[0][i] * slice.step[i] : 0;
    }
    return 0;
}

static int walk_transpose(const struct call *call, struct walk *walk, struct error *err) {
    const struct shape *x = &call->inputs[0]->shape;
    int order[TENSOR_RANK_MAX];
    int64_t strides[TENSOR_RANK_MAX];
    if (move_transpose_order(call->node, x->rank, order, err) < 0) {
        return -1;
    }
    walk_plain_strides(x, strides);
    for (int i = 0; i < walk->shape.rank; i++) {
        walk->strides[0][i] = strides[order[i]];
    }
    return 0;
}

/* Both walk over six dimensions, with separate ones for the sides of a block. `deep` is the tensor
 * with the many channels, [n, blocks and c, h, w]; the other one is wide, [n, c, h, by, w, bx]. */
static void walk_blocks(const struct call *call, struct walk *walk) {
    bool from_deep = call->node->op->id == OP_DEPTH_TO_SPACE;
    bool blocks_first = !from_deep || strcmp(node_text(call->node, "mode", "DCR"), "DCR") == 0;
    int64_t block = node_integer(call->node, "blocksize", 1);
    const int64_t *d = (from_deep ? call->inputs[0] : call->outputs[0])->shape.dims;
    int64_t c = d[1] / (block * block), h = d[2], w = d[3], plane = h * w;
    walk->shape = (struct shape){6, {d[0], c, h, block, w, block}};
    walk_plain_strides(&walk->shape, walk->strides[from_deep ? 1 : 0]);
    int64_t c_stride = blocks_first ? plane : block * block * plane;
    int64_t y_stride = blocks_first ? block * c * plane : block * plane;
    int64_t x_stride = blocks_first ? c * plane : plane;
    const int64_t deep[] = {d[1] * plane, c_stride, w, y_stride, 1, x_stride};
    memcpy(walk->strides[from_deep ? 0 : 1], deep, sizeof deep);
}

int walk_of_copy(const struct call *call, struct walk *ret_walk, struct error *err) {
    *ret_walk = (struct walk){.shape = call->outputs[0]->shape, .operand_count = 2};
    walk_plain_strides(&ret_walk->shape, ret_walk->strides[1]);
    switch (call->node->op->id) {
    case OP_SLICE:
        return walk_slice(call, ret_walk, err);
    case OP_TRANSPOSE:
        return walk_transpose(call, ret_walk, err);
    case OP_EXPAND:
        elementwise_broadcast_strides(&call->inputs[0]->shape, &ret_walk->shape,
                                      ret_walk->strides[0]);
        return 0;
    default:
        walk_blocks(call, ret_walk);
        return 0;
    }
}

static int copy_run(const struct call *call, struct error *err) {
    struct walk walk;
    if (walk_of_copy(call, &walk, err) < 0) {
        return -1;
    }
    walk_copy(&walk, tensor_type_size(call->inputs[0]->type), call->inputs[0]->data,
              call->outputs[0]->data);
    return 0;
}
const struct kernel reference_slice = {"reference slice", copy_run};
const struct kernel reference_transpose = {"reference transpose", copy_run};
const struct kernel reference_expand = {"reference expand", copy_run};
const struct kernel reference_depth_to_space = {"reference depth_to_space", copy_run};
const struct kernel reference_space_to_depth = {"reference space_to_depth", copy_run};
