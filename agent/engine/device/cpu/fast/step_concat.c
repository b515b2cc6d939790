// SPDX-License-Identifier: Apache-2.0
// Concatenation of channels in the blocked layout: operands are made in their place where that is
// possible, whole blocks of the others are copied.
#include <stdlib.h>
#include <string.h>

#include "agent/engine/device/cpu/fast/parallel.h"
#include "agent/engine/device/cpu/fast/steps.h"

enum { PIECE = 2048 }; // floats

// Every operand except the last must fill its blocks.
bool step_concat_fits(const struct vector_ops *ops, const struct schedule *schedule,
                      const struct step *step) {
    bool fits = true;
    for (int i = 0; i < step->input_count; i++) {
        const struct schedule_slot *slot = &schedule->slots[step->inputs[i]];
        bool last = i + 1 == step->input_count;
        fits = fits && slot->layout && (last || slot->shape.dims[1] % ops->block == 0);
    }
    return fits;
}

void step_concat_free(void *state) {
    struct concat_step *step = state;
    step->after->release(step->after);
    free(step);
}

// Whether the step that makes the slot may write it anywhere.
static bool is_movable(const struct schedule *schedule, int index) {
    const struct schedule_slot *slot = &schedule->slots[index];
    return slot->place == PLACE_ARENA && slot->layout == LAYOUT_BLOCKED && !slot->viewed &&
           !slot->is_output && schedule_producer(schedule, index);
}

// The blocks of one sample are adjacent, those of several are not.
void step_concat_join(struct schedule *schedule, struct step *step) {
    struct schedule_slot *out = &schedule->slots[step->outputs[0]];
    int root = out->place == PLACE_VIEW ? out->view_of : step->outputs[0];
    size_t offset = out->place == PLACE_VIEW ? out->view_offset : 0;
    bool copies = false;
    if (out->shape.dims[0] != 1 || step->state) {
        return;
    }
    for (int i = 0; i < step->input_count; i++) {
        struct schedule_slot *slot = &schedule->slots[step->inputs[i]];
        if (is_movable(schedule, step->inputs[i])) {
            slot->place = PLACE_VIEW;
            slot->view_of = root;
            slot->view_offset = offset;
        } else {
            copies = true;
        }
        offset += slot->size_bytes;
    }
    schedule->slots[root].viewed = true;
    if (!copies) {
        *step = (struct step){0};
    }
}

struct concat {
    const struct call *call;
    const struct vector_ops *ops;
    int operands;
    const struct conv_after *after; // NULL: none
};

static int blocks_of(const struct concat *concat, const struct tensor *tensor) {
    return ((int)tensor->shape.dims[1] + concat->ops->block - 1) / concat->ops->block;
}

// Where block `block` of sample n comes from.
static const float *source_of(const struct concat *concat, int n, int block, size_t floats) {
    int operand = 0, blocks = blocks_of(concat, concat->call->inputs[0]);
    while (block >= blocks && operand + 1 < concat->operands) {
        block -= blocks;
        blocks = blocks_of(concat, concat->call->inputs[++operand]);
    }
    const float *data = concat->call->inputs[operand]->data;
    return data + ((size_t)n * (size_t)blocks + (size_t)block) * floats;
}

// A piece is completed while it is in the nearest cache.
static void copy_block(void *context, int index, int lane) {
    const struct concat *concat = context;
    const struct tensor *y = concat->call->outputs[0];
    int blocks = blocks_of(concat, y), b = concat->ops->block;
    int64_t pixels = shape_pixels(&y->shape), at_once = concat->after ? PIECE / b : pixels;
    size_t floats = (size_t)pixels * (size_t)b;
    const float *from = source_of(concat, index / blocks, index % blocks, floats);
    float *to = (float *)y->data + (size_t)index * floats;
    for (int64_t first = 0; first < pixels; first += at_once) {
        size_t at = (size_t)first * (size_t)b;
        const struct conv_piece piece = {.data = to + at,
                                         .plane = index,
                                         .first = first,
                                         .count = (int)MIN(at_once, pixels - first),
                                         .thread = lane};
        if (from != to) {
            memcpy(to + at, from + at, (size_t)(piece.count * b) * sizeof *to);
        }
        if (concat->after) {
            concat->after->run(concat->after, concat->call, &piece);
        }
    }
}

static int concat_run(const struct call *call, struct error *err UNUSED) {
    const struct cpu_device *cpu = (const struct cpu_device *)call->device;
    const struct concat_step *state = call->state;
    struct concat concat = {.call = call,
                            .ops = cpu->vectors,
                            .operands = state ? state->operands : call->input_count,
                            .after = state ? state->after : NULL};
    const struct tensor *y = call->outputs[0];
    parallel_for(cpu->threads, (int)y->shape.dims[0] * blocks_of(&concat, y), copy_block, &concat);
    return 0;
}
const struct kernel fast_concat = {"fast Concat", concat_run};
