// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/product/strided.h"

#include <stdlib.h>
#include <string.h>

#include "agent/engine/ops/infer/move.h"
#include "agent/engine/ops/table.h"

enum { MOVES_MAX = 16 /* followed at most; more are left to their kernels */ };

static void adjacent(const struct shape *shape, int64_t *strides) {
    int64_t step = 1;
    for (int i = shape->rank - 1; i >= 0; i--) {
        strides[i] = step;
        step *= shape->dims[i];
    }
}

/* ---- another shape --------------------------------------------------------------------------- */

// Dimensions of one element are left out.
static void squeeze(struct strided *s) {
    int rank = 0;
    for (int i = 0; i < s->shape.rank; i++) {
        if (s->shape.dims[i] != 1) {
            s->shape.dims[rank] = s->shape.dims[i];
            s->strides[rank++] = s->strides[i];
        }
    }
    s->shape.rank = rank;
}

// Merges dimensions that are one run of memory.
static void merge(struct strided *s) {
    squeeze(s);
    for (int i = s->shape.rank - 2; i >= 0; i--) {
        if (s->strides[i] == s->strides[i + 1] * s->shape.dims[i + 1]) {
            s->shape.dims[i] *= s->shape.dims[i + 1];
            s->strides[i] = s->strides[i + 1];
            for (int k = i + 1; k + 1 < s->shape.rank; k++) {
                s->shape.dims[k] = s->shape.dims[k + 1];
                s->strides[k] = s->strides[k + 1];
            }
            s->shape.rank--;
        }
    }
}

// The same elements with another shape. False: strides cannot say where they are.
static bool reshape(struct strided *s, const struct shape *shape) {
    struct strided runs = *s;
    int64_t left = 1, strides[TENSOR_RANK_MAX] = {0};
    merge(&runs);
    int run = runs.shape.rank; // the present one
    for (int i = shape->rank - 1; i >= 0; i--) {
        if (shape->dims[i] == 1) {
            continue;
        }
        if (left == 1) { // the last run is used up
            if (--run < 0) {
                return false;
            }
            left = runs.shape.dims[run];
        }
        if (left % shape->dims[i] != 0) {
            return false;
        }
        strides[i] = runs.strides[run] * (runs.shape.dims[run] / left);
        left /= shape->dims[i];
    }
    s->shape = *shape;
    memcpy(s->strides, strides, sizeof s->strides);
    return run <= 0 && left == 1;
}

/* ---- nodes that move elements ---------------------------------------------------------------- */

static bool transpose(const struct step *step, struct strided *s) {
    struct error err = {0};
    int order[TENSOR_RANK_MAX];
    struct strided from = *s;
    if (move_transpose_order(step->node, s->shape.rank, order, &err) < 0) {
        return false;
    }
    for (int i = 0; i < s->shape.rank; i++) {
        s->shape.dims[i] = from.shape.dims[order[i]];
        s->strides[i] = from.strides[order[i]];
    }
    return true;
}

static bool cut(const struct schedule *schedule, const struct step *step, struct strided *s) {
    struct error err = {0};
    struct node_facts facts;
    struct slice slice;
    if (slice_params(step->node, schedule_facts(schedule, step->node, &facts), &slice, &err) < 0) {
        return false;
    }
    for (int i = 0; i < s->shape.rank; i++) {
        if (slice.step[i] < 0) {
            return false;
        }
        s->offset += slice.start[i] * s->strides[i];
        s->strides[i] *= slice.step[i];
        s->shape.dims[i] = slice.size[i];
    }
    return true;
}

static int64_t axis_of(const struct step *step, int rank) {
    int64_t axis = node_integer(step->node, "axis", 0);
    return axis < 0 ? axis + rank : axis;
}

static bool split(const struct schedule *schedule, const struct step *step, int slot,
                  struct strided *s) {
    int64_t axis = axis_of(step, s->shape.rank), before = 0;
    for (int i = 0; i < step->output_count && step->outputs[i] != slot; i++) {
        if (step->outputs[i] < 0) {
            return false;
        }
        before += schedule->slots[step->outputs[i]].shape.dims[axis];
    }
    s->offset += before * s->strides[axis];
    s->shape.dims[axis] = schedule->slots[slot].shape.dims[axis];
    return true;
}

// Gather with one index, known before the run: a part of the dimension.
static bool pick(const struct schedule *schedule, const struct step *step, int slot,
                 struct strided *s) {
    const struct schedule_slot *indices = &schedule->slots[step->inputs[1]];
    if (!indices->constant || shape_count(&indices->shape) != 1) {
        return false;
    }
    struct tensor tensor = {.type = indices->type,
                            .shape = indices->shape,
                            .data = (void *)(uintptr_t)indices->constant};
    int64_t index = tensor.type == TENSOR_INT32   ? *(const int32_t *)indices->constant
                    : tensor.type == TENSOR_INT64 ? *(const int64_t *)indices->constant
                                                  : INT64_MAX;
    int64_t axis = axis_of(step, s->shape.rank);
    int64_t size = s->shape.dims[axis];
    index = index < 0 ? index + size : index;
    if (index < 0 || index >= size) {
        return false;
    }
    s->offset += index * s->strides[axis];
    s->shape.dims[axis] = 1;
    return reshape(s, &schedule->slots[slot].shape);
}

static bool expand(const struct schedule *schedule, int slot, struct strided *s) {
    const struct shape *shape = &schedule->slots[slot].shape;
    struct strided from = *s;
    int shift = shape->rank - from.shape.rank;
    if (shift < 0) {
        return false;
    }
    for (int i = 0; i < shape->rank; i++) {
        bool repeats = i < shift || from.shape.dims[i - shift] != shape->dims[i];
        s->strides[i] = repeats ? 0 : from.strides[i - shift];
    }
    s->shape = *shape;
    return true;
}

// From a result of the step, which has no kernel, to its input 0. False: it does more than move.
static bool go_back(const struct schedule *schedule, const struct step *step, int slot,
                    struct strided *s) {
    switch (step->node->op->id) {
    case OP_TRANSPOSE:
        return transpose(step, s);
    case OP_SLICE:
        return cut(schedule, step, s);
    case OP_SPLIT:
        return split(schedule, step, slot, s);
    case OP_GATHER:
        return pick(schedule, step, slot, s);
    case OP_EXPAND:
        return expand(schedule, slot, s);
    default:
        return false;
    }
}

static bool is_move(const struct step *step) {
    int id = step && step->node && !step->kernel ? step->node->op->id : -1;
    return id == OP_TRANSPOSE || id == OP_SLICE || id == OP_SPLIT || id == OP_GATHER ||
           id == OP_EXPAND;
}

static void find(const struct schedule *schedule, int slot, int moves, struct strided *ret) {
    const struct schedule_slot *from = &schedule->slots[slot];
    *ret = (struct strided){.slot = slot, .shape = from->shape};
    adjacent(&from->shape, ret->strides);
    struct strided behind;
    if (moves == 0) {
        return;
    }
    if (from->place == PLACE_VIEW) {
        find(schedule, from->view_of, moves - 1, &behind);
        if (reshape(&behind, &from->shape)) {
            *ret = behind;
        }
        return;
    }
    const struct step *step = schedule_producer(schedule, slot);
    if (is_move(step) && step->inputs[0] >= 0) {
        find(schedule, step->inputs[0], moves - 1, &behind);
        if (go_back(schedule, step, slot, &behind)) {
            *ret = behind;
        }
    }
}

void strided_find(const struct schedule *schedule, int slot, struct strided *ret_strided) {
    find(schedule, slot, MOVES_MAX, ret_strided);
}

/* ---- steps without a reader ------------------------------------------------------------------ */

static bool is_read(const bool *reads, const struct schedule *schedule, const struct step *step) {
    bool read = false;
    for (int i = 0; i < step->output_count; i++) {
        int slot = step->outputs[i];
        const struct schedule_slot *to = slot < 0 ? NULL : &schedule->slots[slot];
        read = read || (to && (reads[slot] || to->is_output || to->place != PLACE_ARENA));
    }
    return read;
}

static void drop(struct schedule *schedule, struct step *step) {
    for (int i = 0; i < step->output_count; i++) {
        if (step->outputs[i] >= 0) {
            schedule->slots[step->outputs[i]].place = PLACE_NONE;
        }
    }
    *step = (struct step){0};
}

static void mark_reads(const struct schedule *schedule, const struct step *step, bool *reads) {
    for (int k = 0; step->node && k < step->input_count; k++) {
        int slot = step->inputs[k];
        if (slot >= 0) {
            const struct schedule_slot *from = &schedule->slots[slot];
            reads[from->place == PLACE_VIEW ? from->view_of : slot] = true;
        }
    }
}

void strided_drop_unread(struct schedule *schedule) {
    bool *reads = x_calloc(schedule->slot_count, sizeof *reads); // by slot; of views: their source
    for (size_t i = 0; i < schedule->slot_count; i++) {
        const struct schedule_slot *slot = &schedule->slots[i];
        if (slot->place == PLACE_VIEW && slot->is_output) {
            reads[slot->view_of] = true;
        }
    }
    for (size_t n = schedule->step_count; n-- > 0;) {
        struct step *step = &schedule->steps[n];
        if (is_move(step) && !is_read(reads, schedule, step)) {
            drop(schedule, step);
        }
        mark_reads(schedule, step, reads);
    }
    free(reads);
}
