// SPDX-License-Identifier: Apache-2.0
/* Slice, Transpose, Expand, DepthToSpace, SpaceToDepth and Pad with a number on all threads, in
 * tiles that fit into the nearest cache; and the gradients of those that read no element twice. */
#include "agent/engine/device/cpu/axis/axis.h"
#include "agent/engine/device/cpu/reference/walk.h"
#include "agent/engine/device/cpu/vector/vector.h"
#include "agent/engine/ops/infer/move.h"
#include "agent/engine/ops/table.h"

#include <string.h>

enum {
    TILE = 64, /* rows and columns of a tile; a tile of 4-byte elements is 16 KiB */
    ELEMENTS_A_PIECE = 1 << 14,
    INPUTS_MAX = 5, /* of Slice */
};

/* A walk whose last dimension is the one in which the output is dense. */
struct run {
    const struct vector_ops *vectors;
    struct walk walk;
    int second;     /* the other dimension of tiles; -1: the walk has one dimension */
    bool is_turned; /* the input is dense in the second dimension, not in the last one */
    int64_t tiles;  /* of the second dimension; 1 without */
    size_t size;    /* bytes of an element */
    const char *from;
    char *to;
};

/* ---- the walk -------------------------------------------------------------------------------- */

static void drop_dimension(struct walk *walk, int at) {
    walk->shape.rank--;
    for (int i = at; i < walk->shape.rank; i++) {
        walk->shape.dims[i] = walk->shape.dims[i + 1];
        walk->strides[0][i] = walk->strides[0][i + 1];
        walk->strides[1][i] = walk->strides[1][i + 1];
    }
}

/* Whether dimensions `at` and at + 1 are one in both tensors. */
static bool is_one_run(const struct walk *walk, int at) {
    bool is_one = true;
    for (int k = 0; k < 2; k++) {
        is_one =
            is_one && walk->strides[k][at] == walk->strides[k][at + 1] * walk->shape.dims[at + 1];
    }
    return is_one;
}

/* As few dimensions as possible, at least one. */
static void merge_dimensions(struct walk *walk) {
    for (int i = walk->shape.rank - 1; i >= 0; i--) {
        if (walk->shape.dims[i] == 1) {
            drop_dimension(walk, i);
        }
    }
    for (int i = walk->shape.rank - 2; i >= 0; i--) {
        if (is_one_run(walk, i)) {
            walk->shape.dims[i + 1] *= walk->shape.dims[i];
            drop_dimension(walk, i);
        }
    }
    if (walk->shape.rank == 0) {
        walk->shape = (struct shape){1, {1}};
    }
}

/* Moves the dimension in which the output is dense to the end. */
static void end_with_dense(struct walk *walk) {
    int last = walk->shape.rank - 1, at = last;
    for (int i = 0; i < last; i++) {
        at = walk->strides[1][last] != 1 && walk->strides[1][i] == 1 ? i : at;
    }
    if (at != last) {
        int64_t count = walk->shape.dims[at];
        int64_t from = walk->strides[0][at], to = walk->strides[1][at];
        drop_dimension(walk, at);
        walk->shape.rank++;
        walk->shape.dims[last] = count;
        walk->strides[0][last] = from;
        walk->strides[1][last] = to;
    }
}

/* The dimension in which the input is dense, if it is not the last one and long enough for a tile
 * that is turned around; -1: none. */
static int turned_dimension(const struct walk *walk) {
    enum { LEAST = 4 };
    int last = walk->shape.rank - 1;
    for (int i = 0; i < last && walk->strides[1][last] == 1 && walk->strides[0][last] > 0; i++) {
        if (walk->strides[0][i] == 1 && walk->strides[1][i] > 0 && walk->shape.dims[i] >= LEAST) {
            return i;
        }
    }
    return -1;
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* A tile: `columns` elements that are adjacent in the input become rows of the output. */
static void turn_tile(const struct run *run, const char *from, char *to, int columns) {
    const struct walk *walk = &run->walk;
    int last = walk->shape.rank - 1;
    int64_t in_row = walk->strides[0][last], out_row = walk->strides[1][run->second];
    int64_t size = (int64_t)run->size;
    for (int64_t row = 0; row < walk->shape.dims[last]; row += TILE) {
        int rows = (int)MIN(walk->shape.dims[last] - row, TILE);
        const char *source = from + row * in_row * size;
        char *target = to + row * size;
        if (size == sizeof(float)) {
            run->vectors->transpose((float *)(void *)target, (size_t)out_row,
                                    (const float *)(const void *)source, (size_t)in_row, rows,
                                    columns);
            continue;
        }
        for (int c = 0; c < columns; c++) {
            walk_copy_row(source + c * size, in_row, target + c * out_row * size, 1, rows,
                          run->size);
        }
    }
}

/* Unit `index`: at most TILE of the second dimension, all of the last one. */
static void copy_unit(const struct run *run, int64_t index) {
    const struct walk *walk = &run->walk;
    int last = walk->shape.rank - 1, second = run->second;
    int64_t from = walk->start[0], to = walk->start[1], first = index % run->tiles * TILE;
    index /= run->tiles;
    for (int i = last - 1; i >= 0; i--) {
        if (i != second) {
            int64_t at = index % walk->shape.dims[i];
            from += at * walk->strides[0][i];
            to += at * walk->strides[1][i];
            index /= walk->shape.dims[i];
        }
    }
    int64_t size = (int64_t)run->size;
    int64_t steps[2] = {second < 0 ? 0 : walk->strides[0][second] * size,
                        second < 0 ? 0 : walk->strides[1][second] * size};
    const char *source = run->from + from * size + first * steps[0];
    char *target = run->to + to * size + first * steps[1];
    int64_t count = second < 0 ? 1 : MIN(walk->shape.dims[second] - first, TILE);
    if (run->is_turned) {
        turn_tile(run, source, target, (int)count);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        walk_copy_row(source + i * steps[0], walk->strides[0][last], target + i * steps[1],
                      walk->strides[1][last], walk->shape.dims[last], run->size);
    }
}

static void copy_units(void *context, int64_t first, int64_t last) {
    for (int64_t i = first; i < last; i++) {
        copy_unit(context, i);
    }
}

static void copy_all(const struct call *call, struct run *run) {
    int64_t count = shape_count(&run->walk.shape);
    merge_dimensions(&run->walk);
    end_with_dense(&run->walk);
    int turned = turned_dimension(&run->walk);
    run->is_turned = turned >= 0;
    run->second = run->is_turned ? turned : run->walk.shape.rank - 2;
    int64_t each = run->walk.shape.dims[run->walk.shape.rank - 1], side = 1;
    if (run->second >= 0) {
        side = run->walk.shape.dims[run->second];
        run->tiles = (side + TILE - 1) / TILE;
    }
    threads_run(cpu_threads(call), count / each / side * run->tiles,
                ELEMENTS_A_PIECE / (each * MIN(side, TILE)) + 1, copy_units, run);
}

static struct run run_of(const struct call *call) {
    return (struct run){.vectors = ((const struct cpu_device *)call->device)->vectors,
                        .size = tensor_type_size(call->inputs[0]->type),
                        .from = call->inputs[0]->data,
                        .to = call->outputs[0]->data,
                        .tiles = 1};
}

static int copy_run(const struct call *call, struct error *err) {
    struct run run = run_of(call);
    if (walk_of_copy(call, &run.walk, err) < 0) {
        return -1;
    }
    copy_all(call, &run);
    return 0;
}
const struct kernel axis_copy = {"axis copy", copy_run};

/* ---- Pad ------------------------------------------------------------------------------------- */

struct fill {
    const char *value;
    char *to;
    size_t size;
};

static void fill_elements(void *context, int64_t first, int64_t last) {
    const struct fill *fill = context;
    walk_copy_row(fill->value, 0, fill->to + (size_t)first * fill->size, 1, last - first,
                  fill->size);
}

/* The elements of x that are in y; pads may be negative. False: there are none. */
static bool walk_of_pad(const struct pad *pad, const struct shape *x, const struct shape *y,
                        struct walk *ret_walk) {
    struct walk walk = {.shape = *x};
    bool any = true;
    walk_plain_strides(x, walk.strides[0]);
    walk_plain_strides(y, walk.strides[1]);
    for (int i = 0; i < x->rank; i++) {
        walk.shape.dims[i] += MIN(pad->begin[i], 0) + MIN(pad->end[i], 0);
        walk.start[0] += MAX(-pad->begin[i], 0) * walk.strides[0][i];
        walk.start[1] += MAX(pad->begin[i], 0) * walk.strides[1][i];
        any = any && walk.shape.dims[i] > 0;
    }
    *ret_walk = walk;
    return any;
}

bool axis_pad_takes(const struct schedule *schedule, const struct step *step) {
    struct node_facts facts;
    struct pad pad;
    struct error err = {0};
    if (pad_params(step->node, schedule_facts(schedule, step->node, &facts), &pad, &err) < 0) {
        error_clear(&err);
        return false;
    }
    return pad.mode == PAD_CONSTANT;
}

static int pad_run(const struct call *call, struct error *err) {
    static const int64_t zero = 0;
    struct cpu_call_facts facts = {0};
    struct run run = run_of(call);
    const struct tensor *x = call->inputs[0], *y = call->outputs[0];
    struct pad pad;
    if (pad_params(call->node, cpu_call_collect_facts(call, &facts), &pad, err) < 0) {
        return -1;
    }
    bool has_value = call->input_count > 2 && call->inputs[2];
    const void *value = call->node->opset < 11 ? (const void *)&pad.value
                        : has_value            ? call->inputs[2]->data
                                               : (const void *)&zero;
    bool has_copy = walk_of_pad(&pad, &x->shape, &y->shape, &run.walk);
    if (!has_copy || shape_count(&run.walk.shape) < shape_count(&y->shape)) {
        struct fill fill = {value, run.to, run.size};
        threads_run(cpu_threads(call), shape_count(&y->shape), ELEMENTS_A_PIECE, fill_elements,
                    &fill);
    }
    if (has_copy) {
        copy_all(call, &run);
    }
    return 0;
}
const struct kernel axis_pad = {"axis pad", pad_run};

/* ---- gradients ------------------------------------------------------------------------------- */

bool axis_copy_back_takes(const struct schedule *schedule UNUSED, const struct step *step) {
    int id = op_forward_node(step->node).op->id;
    return id == OP_SLICE || id == OP_DEPTH_TO_SPACE || id == OP_SPACE_TO_DEPTH;
}

/* The walk of the forward node, from its output to its input. */
static int walk_back(const struct call *call, struct walk *ret_walk, struct error *err) {
    struct node forward = op_forward_node(call->node);
    const struct tensor *inputs[INPUTS_MAX] = {call->outputs[0]};
    struct tensor y = *call->inputs[0], *outputs[] = {&y};
    forward.input_count = MIN(call->input_count - 1, INPUTS_MAX);
    for (int i = 1; i < forward.input_count; i++) {
        inputs[i] = call->inputs[i + 1];
    }
    const struct call asked = {.device = call->device,
                               .node = &forward,
                               .input_count = forward.input_count,
                               .output_count = 1,
                               .inputs = inputs,
                               .outputs = outputs};
    struct walk walk;
    if (walk_of_copy(&asked, &walk, err) < 0) {
        return -1;
    }
    *ret_walk = walk;
    memcpy(ret_walk->strides[0], walk.strides[1], sizeof walk.strides[0]);
    memcpy(ret_walk->strides[1], walk.strides[0], sizeof walk.strides[0]);
    ret_walk->start[0] = walk.start[1];
    ret_walk->start[1] = walk.start[0];
    return 0;
}

static void zero_elements(void *context, int64_t first, int64_t last) {
    memset((float *)context + first, 0, (size_t)(last - first) * sizeof(float));
}

void axis_zero(struct threads *threads, const struct tensor *tensor) {
    threads_run(threads, shape_count(&tensor->shape), ELEMENTS_A_PIECE, zero_elements,
                tensor->data);
}

/* (dy, shape of x, the forward node's further inputs) -> dx, which is 0 where nothing was read */
static int copy_back_run(const struct call *call, struct error *err) {
    struct run run = run_of(call);
    int64_t count = shape_count(&call->outputs[0]->shape);
    if (walk_back(call, &run.walk, err) < 0) {
        return -1;
    }
    if (shape_count(&run.walk.shape) < count) {
        axis_zero(cpu_threads(call), call->outputs[0]);
    }
    copy_all(call, &run);
    return 0;
}
const struct kernel axis_copy_back = {"axis copy back", copy_back_run};
