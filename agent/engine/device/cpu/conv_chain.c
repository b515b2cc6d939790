// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/conv_chain.h"

#include <stdlib.h>

#include "agent/engine/device/cpu/chain/chain.h"
#include "agent/engine/device/cpu/fast/steps.h"

struct conv_chain {
    struct conv_after after;
    void *chain;
    int first_input; /* of the chain's inputs, among the step's */
    size_t offset,
        floats; /* of the chain's registers in the step's scratch, in bytes; of a thread */
};

static void complete(const struct conv_after *after, const void *context,
                     const struct conv_piece *piece) {
    const struct conv_chain *state = (const struct conv_chain *)after;
    const struct call *call = context;
    float *registers = (float *)(void *)((char *)call->scratch + state->offset);
    const struct chain_piece part = {.inputs = call->inputs + state->first_input,
                                     .output = call->outputs[0],
                                     .plane = piece->plane,
                                     .first = piece->first,
                                     .count = piece->count,
                                     .registers =
                                         registers + (size_t)piece->thread * state->floats};
    chain_run_piece(state->chain, &part);
}

static void release(struct conv_after *after) {
    struct conv_chain *state = (struct conv_chain *)after;
    chain_free(state->chain);
    free(state);
}

static bool is_complete(const struct conv_step *conv) {
    return !conv->normed && !conv->after && !conv->is_split && conv->out_layout == LAYOUT_BLOCKED &&
           conv->out_offset == SIZE_MAX && conv->conv.weights->algorithm != CONV_THIN;
}

static bool can_complete(const struct step *maker) {
    return maker->kernel == &fast_conv     ? is_complete(maker->state)
           : maker->kernel == &fast_concat ? !maker->state
                                           : false;
}

// The step whose output only the chain reads; NULL: none fits. *ret_input: the chain's input.
static struct step *find_maker(const struct schedule *schedule, const struct step *chain,
                               int *ret_input) {
    for (int i = 0; i < chain->input_count; i++) {
        int slot = chain->inputs[i];
        struct step *maker = slot < 0 ? NULL : schedule_producer(schedule, slot);
        if (maker && can_complete(maker) && schedule_only_user(schedule, slot) == chain &&
            chain_has_pieces(schedule, chain, slot)) {
            *ret_input = i;
            return maker;
        }
    }
    return NULL;
}

static void fuse(const struct cpu_device *cpu, struct schedule *schedule, struct step *chain) {
    int input;
    struct step *maker = find_maker(schedule, chain, &input);
    if (!maker || schedule->slots[chain->outputs[0]].layout != LAYOUT_BLOCKED) {
        return;
    }
    struct conv_chain *state = x_calloc(1, sizeof *state);
    const struct step old = *chain;
    int operands = maker->input_count;
    struct step *step = schedule_absorb(schedule, maker, chain);
    *state = (struct conv_chain){.after = {complete, release},
                                 .chain = old.state,
                                 .first_input = step->input_count,
                                 .offset = (step->scratch_bytes + 63) / 64 * 64,
                                 .floats = (chain_register_floats(old.state) + 15) / 16 * 16};
    for (int i = 0; i < old.input_count; i++) {
        schedule_add_input(schedule, step, i == input ? -1 : old.inputs[i]);
    }
    size_t threads = (size_t)threads_count(cpu->threads);
    step->scratch_bytes = state->offset + threads * state->floats * sizeof(float);
    if (step->kernel == &fast_concat) {
        struct concat_step *concat = x_calloc(1, sizeof *concat);
        *concat = (struct concat_step){operands, &state->after};
        step->state = concat;
        step->release = step_concat_free;
    } else {
        struct conv_step *conv = step->state;
        conv->after = &state->after;
        conv->conv.after = conv->after;
    }
}

// A gate whose product only a 1x1 convolution reads: that multiplies what it reads itself.
static void move_gate(struct cpu_device *cpu, struct schedule *schedule, struct step *chain) {
    int product = chain->outputs[0], full, gate;
    struct step *user = schedule_only_user(schedule, product);
    bool fits = user && user->kernel == &fast_conv && step_conv_takes_gate(user) &&
                user->inputs[0] == product && chain_is_gate(schedule, chain, &full, &gate);
    for (int i = 1; fits && i < user->input_count; i++) {
        fits = user->inputs[i] != product;
    }
    if (!fits) {
        return;
    }
    schedule->slots[product].place = PLACE_NONE;
    user->inputs[0] = full;
    step_conv_add_gate(cpu, schedule, user, gate);
    chain->release(chain->state);
    *chain = (struct step){0};
}

void conv_chain_gates(struct cpu_device *cpu, struct schedule *schedule) {
    for (size_t i = 0; i < schedule->step_count; i++) {
        if (schedule->steps[i].node && schedule->steps[i].kernel == &fast_chain) {
            move_gate(cpu, schedule, &schedule->steps[i]);
        }
    }
}

void conv_chain_fuse(const struct cpu_device *cpu, struct schedule *schedule) {
    for (size_t i = 0; i < schedule->step_count; i++) {
        if (schedule->steps[i].node && schedule->steps[i].kernel == &fast_chain) {
            fuse(cpu, schedule, &schedule->steps[i]);
        }
    }
}
