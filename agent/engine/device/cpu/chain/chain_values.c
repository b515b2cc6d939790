// SPDX-License-Identifier: Apache-2.0
/* Lowering: the values of a chain: inputs, constants, registers, rows. */
#include <math.h>

#include "agent/engine/device/cpu/chain/chain_lower.h"
#include "agent/engine/ops/infer/elementwise.h"

enum { NONE = -1 };

static int add_value(struct lower *l, struct chain_value value) {
    struct chain *chain = l->chain;
    if (chain->value_count == CHAIN_VALUES_MAX) {
        l->failed = true;
        return 0;
    }
    value.last_use = value.output = NONE;
    chain->values[chain->value_count] = value;
    return chain->value_count++;
}

int lower_number(struct lower *l, float number) {
    return add_value(l, (struct chain_value){.kind = CHAIN_NUMBER, .number = number, .slot = NONE});
}

// The shape of one number per row of the domain.
struct shape lower_row_shape(const struct chain *chain) {
    struct shape shape = chain->domain;
    for (int i = shape.rank - chain->reduced; i < shape.rank; i++) {
        shape.dims[i] = 1;
    }
    return shape;
}

// Whether the shape broadcasts to the domain.
static bool broadcasts(const struct shape *shape, const struct shape *domain) {
    int shift = domain->rank - shape->rank;
    bool fits = shift >= 0;
    for (int i = 0; i < shape->rank && fits; i++) {
        fits = shape->dims[i] == 1 || shape->dims[i] == domain->dims[i + shift];
    }
    return fits;
}

// Whether an input's elements along the reduced dimensions are adjacent, or one number: registers
// hold a row as one run of elements.
bool lower_is_one_run(const struct chain *chain, const struct shape *shape) {
    int64_t count = 1, whole = 1;
    for (int i = 0; i < chain->reduced; i++) {
        int from = shape->rank - 1 - i, to = chain->domain.rank - 1 - i;
        count *= from < 0 ? 1 : shape->dims[from];
        whole *= chain->domain.dims[to];
    }
    return count == 1 || count == whole;
}

// Whether it is one number for each row, or for all.
bool lower_is_narrow(const struct lower *l, int value) {
    const struct chain_value *v = &l->chain->values[value];
    if (v->kind != CHAIN_INPUT) {
        return v->kind == CHAIN_NUMBER || v->is_row;
    }
    struct shape row = lower_row_shape(l->chain);
    return l->chain->reduced && broadcasts(&v->shape, &row);
}

int lower_input(struct lower *l, int slot, const struct shape *shape, float *owned) {
    struct chain *chain = l->chain;
    enum tensor_type type = slot < 0 ? TENSOR_FLOAT32 : l->schedule->slots[slot].type;
    if ((type != TENSOR_FLOAT32 && type != TENSOR_BOOL) || !broadcasts(shape, &chain->domain) ||
        !lower_is_one_run(chain, shape)) {
        l->failed = true;
        return 0;
    }
    int value = add_value(l, (struct chain_value){.kind = CHAIN_INPUT,
                                                  .slot = slot,
                                                  .shape = *shape,
                                                  .owned = owned,
                                                  .is_bool = type == TENSOR_BOOL});
    if (type != TENSOR_BOOL || l->failed) {
        return value;
    }
    int bytes = value;
    struct chain_instruction *load = &chain->instructions[chain->instruction_count];
    if (chain->instruction_count == CHAIN_INSTRUCTIONS_MAX) {
        l->failed = true;
        return 0;
    }
    chain->instruction_count++;
    value = add_value(l, (struct chain_value){.kind = CHAIN_RESULT,
                                              .slot = slot,
                                              .is_row = lower_is_narrow(l, bytes),
                                              .is_loaded = true});
    *load =
        (struct chain_instruction){.op = CHAIN_LOAD_BOOL, .in = {bytes, NONE, NONE}, .out = value};
    return value;
}

// The value of a slot: of an earlier node of this chain, a number, or an input.
static int value_of_slot(struct lower *l, int slot) {
    struct chain *chain = l->chain;
    const struct schedule_slot *from = &l->schedule->slots[slot];
    for (int i = chain->value_count - 1; i >= 0; i--) {
        const struct chain_value *value = &chain->values[i];
        bool same_shape = value->kind != CHAIN_INPUT || shape_equal(&value->shape, &from->shape);
        if (value->slot != slot || value->is_bool || !same_shape) {
            continue;
        }
        // A reduction without its dimensions is broadcast along others than its rows.
        struct shape row = lower_row_shape(chain);
        l->failed |= value->kind == CHAIN_RESULT && !value->is_loaded &&
                     !shape_equal(&from->shape, &chain->domain) && !shape_equal(&from->shape, &row);
        return i;
    }
    if (from->place == PLACE_CONSTANT && from->type == TENSOR_FLOAT32 &&
        shape_count(&from->shape) == 1) {
        return lower_number(l, *(const float *)from->constant);
    }
    return lower_input(l, slot, &from->shape, NULL);
}

int lower_value(struct lower *l, int index) {
    int slot = index < l->step->input_count ? l->step->inputs[index] : NONE;
    if (slot < 0) {
        l->failed = true;
        return 0;
    }
    return value_of_slot(l, slot);
}

// Appends an instruction; its result is one number per row if that is true of all operands.
int lower_emit(struct lower *l, struct chain_instruction instruction) {
    struct chain *chain = l->chain;
    bool narrow = chain->reduced;
    for (int i = 0; i < 3; i++) {
        narrow = narrow && (instruction.in[i] < 0 || lower_is_narrow(l, instruction.in[i]));
    }
    if (l->failed || chain->instruction_count == CHAIN_INSTRUCTIONS_MAX) {
        l->failed = true;
        return 0;
    }
    instruction.out =
        add_value(l, (struct chain_value){.kind = CHAIN_RESULT,
                                          .slot = NONE,
                                          .is_row = narrow || chain_reduces(instruction.op)});
    chain->instructions[chain->instruction_count++] = instruction;
    return instruction.out;
}

int lower_two(struct lower *l, enum chain_op op, int a, int b) {
    return lower_emit(l, (struct chain_instruction){.op = op, .in = {a, b, NONE}});
}

int lower_one(struct lower *l, enum chain_op op, int a) {
    return lower_emit(l, (struct chain_instruction){.op = op, .in = {a, NONE, NONE}});
}

int lower_affine(struct lower *l, int a, float p, float q) {
    return lower_emit(
        l, (struct chain_instruction){.op = CHAIN_AFFINE, .in = {a, NONE, NONE}, .p = p, .q = q});
}

void chain_clip_bounds(struct lower *l, int input, float bounds[static 2]) {
    struct tensor tensors[2] = {{0}};
    bounds[0] = -INFINITY;
    bounds[1] = INFINITY;
    for (int i = 0; i < 2; i++) {
        int slot = i + input < l->step->input_count ? l->step->inputs[i + input] : -1;
        const struct schedule_slot *from = slot < 0 ? NULL : &l->schedule->slots[slot];
        if (from && from->place != PLACE_CONSTANT) {
            l->failed = true;
            return;
        }
        tensors[i].data = from ? (void *)(uintptr_t)from->constant : NULL;
    }
    elementwise_clip_bounds(l->step->node, tensors[0].data ? &tensors[0] : NULL,
                            tensors[1].data ? &tensors[1] : NULL, &bounds[0], &bounds[1]);
}

int lower_clip_to(struct lower *l, int a, float low, float high) {
    return lower_emit(l, (struct chain_instruction){
                             .op = CHAIN_CLIP, .in = {a, NONE, NONE}, .p = low, .q = high});
}

int lower_pick(struct lower *l, int condition, int a, int b) {
    return lower_emit(l, (struct chain_instruction){.op = CHAIN_WHERE, .in = {condition, a, b}});
}

int lower_with_number(struct lower *l, enum chain_op op, int a, float number) {
    return lower_two(l, op, a, lower_number(l, number));
}
