// SPDX-License-Identifier: Apache-2.0
/* Drops instructions that nothing reads, and merges those that have a loop together. */
#include <string.h>

#include "agent/engine/device/cpu/chain/chain_state.h"

// The instruction that makes the value, if only one operand reads it and it is not an output; -1:
// none.
static int own_maker(const struct chain *chain, int value) {
    int maker = -1, readers = 0;
    for (int i = 0; i < chain->instruction_count; i++) {
        const struct chain_instruction *instruction = &chain->instructions[i];
        maker = instruction->out == value ? i : maker;
        for (int k = 0; k < 3; k++) {
            readers += instruction->in[k] == value;
        }
    }
    bool is_own = value >= 0 && readers == 1 && chain->values[value].output < 0;
    return is_own ? maker : -1;
}

static void drop(struct chain *chain, int at) {
    memmove(&chain->instructions[at], &chain->instructions[at + 1],
            (size_t)(chain->instruction_count - at - 1) * sizeof *chain->instructions);
    chain->instruction_count--;
}

static bool is_read_behind(const struct chain *chain, int value, int from) {
    bool is_read = false;
    for (int i = from; i < chain->instruction_count && !is_read; i++) {
        const struct chain_instruction *instruction = &chain->instructions[i];
        for (int k = 0; k < 3; k++) {
            is_read |= instruction->in[k] == value;
        }
    }
    return is_read;
}

// Drops what nothing reads, because later chains compute it again.
static void drop_unread(struct chain *chain) {
    for (int i = chain->instruction_count; i-- > 0;) {
        int value = chain->instructions[i].out;
        if (value >= 0 && chain->values[value].output < 0 && !is_read_behind(chain, value, i + 1)) {
            drop(chain, i);
        }
    }
}

// x times a gate that is computed from x alone: its sigmoid, or that of straight lines. Returns the
// number of instructions that are dropped before the product.
static int merge_gate(struct chain *chain, int at, int x, int gate) {
    struct chain_instruction *product = &chain->instructions[at];
    int outer = own_maker(chain, gate);
    const struct chain_instruction *from = outer < 0 ? NULL : &chain->instructions[outer];
    if (from && from->op == CHAIN_SIGMOID && from->in[0] == x) {
        *product =
            (struct chain_instruction){.op = CHAIN_SILU, .in = {x, -1, -1}, .out = product->out};
        drop(chain, outer);
        return 1;
    }
    bool is_clip = from && from->op == CHAIN_CLIP && from->p == 0 && from->q == 1;
    int inner = is_clip ? own_maker(chain, from->in[0]) : -1;
    const struct chain_instruction *line = inner < 0 ? NULL : &chain->instructions[inner];
    if (line && line->op == CHAIN_AFFINE && line->in[0] == x) {
        *product = (struct chain_instruction){.op = CHAIN_HARD_SWISH,
                                              .in = {x, -1, -1},
                                              .out = product->out,
                                              .p = line->p,
                                              .q = line->q};
        drop(chain, outer);
        drop(chain, inner);
        return 2;
    }
    return 0;
}

void chain_merge(struct chain *chain) {
    drop_unread(chain);
    for (int i = 0; i < chain->instruction_count; i++) {
        const struct chain_instruction product = chain->instructions[i];
        for (int k = 0; k < 2 && product.op == CHAIN_MUL; k++) {
            int dropped = merge_gate(chain, i, product.in[k], product.in[1 - k]);
            i -= dropped;
            if (dropped) {
                break;
            }
        }
    }
}
