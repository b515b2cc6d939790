// SPDX-License-Identifier: Apache-2.0
/* An addition, or a relu or clip alone, of blocked activations. */
#include "agent/engine/device/cpu/fast/block_pixels.h"
#include "agent/engine/device/cpu/fast/parallel.h"
#include "agent/engine/device/cpu/fast/steps.h"

enum { PIECE = 512 }; /* pixels at a time: three pieces fit into the first-level cache */

struct combine {
    const struct vector_ops *ops;
    const struct shape *shape;
    const struct combine_step *step;
    struct conv_operand a, b, out; /* b.data NULL: one operand */
    int pieces;                    /* per block of an activation */
};

void step_combine_prepare(struct schedule *schedule, struct step *step) {
    struct combine_step *state = step->state;
    state->in_layout[0] = schedule->slots[step->inputs[0]].layout;
    state->in_layout[1] = state->adds ? schedule->slots[step->inputs[1]].layout : 0;
    state->out_layout = schedule->slots[step->outputs[0]].layout;
}

static void combine_piece(void *context, int index, int lane UNUSED) {
    const struct combine *c = context;
    int b = c->ops->block, channels = (int)c->shape->dims[1], blocks = (channels + b - 1) / b;
    size_t pixels = (size_t)shape_pixels(c->shape);
    size_t first = (size_t)(index % c->pieces) * PIECE;
    struct block_pixels part = {.n = index / c->pieces / blocks,
                                .block = index / c->pieces % blocks,
                                .first = first,
                                .count = MIN(PIECE, pixels - first)};
    float rooms[3][PIECE * VECTOR_LANES_MAX] __attribute__((aligned(64)));
    const float *a = block_pixels_read(c->ops, &c->a, c->shape, &part, rooms[0]), *other = NULL;
    struct pending pending_a = step_pending(c->ops, &c->a, c->shape, part.n, part.block);
    struct pending pending_b = {0};
    if (c->b.data) {
        pending_b = step_pending(c->ops, &c->b, c->shape, part.n, part.block);
        other = block_pixels_read(c->ops, &c->b, c->shape, &part, rooms[1]);
    }
    float *out = block_pixels_room(c->ops, &c->out, c->shape, &part, rooms[2]);
    c->ops->combine(out, a, &pending_a, other, &pending_b, c->step->low, c->step->high, part.count);
    block_pixels_write(c->ops, &c->out, c->shape, &part, out);
}

static int combine_run(const struct call *call, struct error *err UNUSED) {
    struct cpu_device *cpu = (struct cpu_device *)call->device;
    const struct combine_step *step = call->state;
    const struct tensor *y = call->outputs[0];
    struct combine c = {.ops = cpu->vectors, .shape = &y->shape, .step = step};
    c.a = step_operand(c.ops, call->inputs[0], step->in_layout[0]);
    c.out = step_operand(c.ops, y, step->out_layout);
    if (step->adds) {
        c.b = step_operand(c.ops, call->inputs[1], step->in_layout[1]);
    }
    size_t pixels = (size_t)shape_pixels(&y->shape);
    int b = c.ops->block, blocks = ((int)y->shape.dims[1] + b - 1) / b;
    c.pieces = (int)((pixels + PIECE - 1) / PIECE);
    parallel_for(cpu->threads, (int)y->shape.dims[0] * blocks * c.pieces, combine_piece, &c);
    return 0;
}
const struct kernel fast_combine = {"fast Add or Relu", combine_run};
