// SPDX-License-Identifier: Apache-2.0
// Which values of earlier chains a chain computes again, and the instructions that do
// (chain_group.h).
#include <stdlib.h>

#include "agent/engine/device/cpu/chain/chain_group.h"
#include "agent/engine/device/cpu/chain/chain_lower.h"
#include "agent/engine/ops/table.h"

enum { DEPTH_MAX = 4 /* steps one behind the other that are computed again */, TIMES_SMALL = 16 };

// Where a chain may be cut off again.
struct mark {
    struct shape domain;
    int reduced, values, instructions, again;
};

static struct mark mark_of(const struct group *group) {
    const struct chain *chain = group->chain;
    return (struct mark){chain->domain, chain->reduced, chain->value_count,
                         chain->instruction_count, group->again_count};
}

static void cut_off(struct group *group, const struct mark *mark) {
    struct chain *chain = group->chain;
    for (int i = mark->values; i < chain->value_count; i++) {
        free(chain->values[i].owned);
    }
    chain->domain = mark->domain;
    chain->reduced = mark->reduced;
    chain->value_count = mark->values;
    chain->instruction_count = mark->instructions;
    group->again_count = mark->again;
}

static const struct chain_value *value_of(const struct chain *chain, int slot) {
    for (int i = chain->value_count - 1; i >= 0; i--) {
        if (chain->values[i].slot == slot && !chain->values[i].is_bool) {
            return &chain->values[i];
        }
    }
    return NULL;
}

// Less work than a pass over memory.
static bool is_cheap(const struct step *step) {
    const struct lower_row *row = lower_row_find(step->node->op->id);
    return row && !step->kernel && step->output_count == 1 && row->id != OP_POW &&
           (row->form == FORM_ONE || row->form == FORM_TWO || row->form == FORM_OWN);
}

static bool may_be_again(const struct grouping *grouping, int slot) {
    const struct schedule_slot *from = &grouping->schedule->slots[slot];
    const struct group_slot *known = &grouping->slots[slot];
    return from->place == PLACE_ARENA && from->type == TENSOR_FLOAT32 && !from->viewed &&
           !from->is_output && !known->has_others && known->producer && is_cheap(known->producer);
}

static int64_t count_of(const struct grouping *grouping, int slot) {
    return shape_count(&grouping->schedule->slots[slot].shape);
}

// So much smaller that it costs no pass over memory.
static bool is_small(const struct grouping *grouping, int slot, int beside) {
    return count_of(grouping, slot) * TIMES_SMALL <= count_of(grouping, beside);
}

// Whether an input of the producer of `slot` is in memory for this or a later step in any case, or
// is small; or another kernel reads it, and it takes no more memory than `slot`, which need not be
// written then.
static bool is_kept(const struct grouping *grouping, int slot, int input, size_t step) {
    const struct schedule_slot *from = &grouping->schedule->slots[input];
    int root = from->place == PLACE_VIEW ? from->view_of : input;
    const struct group_slot *known = &grouping->slots[root];
    enum slot_place place = grouping->schedule->slots[root].place;
    return place == PLACE_CONSTANT || place == PLACE_INPUT ||
           (!known->maker &&
            (known->last_reader >= step || is_small(grouping, input, slot) ||
             (known->has_others && count_of(grouping, input) <= count_of(grouping, slot))));
}

// Makes the slot a result of the group's chain, for the step with this index. False: it is to be
// read.
static bool compute(struct grouping *grouping, struct group *group, int slot, size_t step,
                    int depth) {
    const struct mark before = mark_of(group);
    const struct step *producer = grouping->slots[slot].producer;
    if (depth == DEPTH_MAX || group->again_count == GROUP_AGAIN_MAX ||
        !may_be_again(grouping, slot)) {
        return false;
    }
    bool fits = true;
    for (int i = 0; i < producer->input_count && fits; i++) {
        int input = producer->inputs[i];
        fits = input < 0 || value_of(group->chain, input) ||
               compute(grouping, group, input, step, depth + 1) ||
               is_kept(grouping, slot, input, step);
    }
    if (fits && group->again_count < GROUP_AGAIN_MAX &&
        chain_lower(grouping->schedule, producer, group->chain)) {
        group->again[group->again_count++] = slot;
        return true;
    }
    cut_off(group, &before);
    return false;
}

bool chain_is_again(const struct group *group, int slot) {
    for (int i = 0; i < group->again_count; i++) {
        if (group->again[i] == slot) {
            return true;
        }
    }
    return false;
}

// The step reads no memory for what is computed again; that reads the inputs of its producers. A
// bool is read as bytes, which the last value of its slot is loaded from.
static void count_readers(struct grouping *grouping, const struct group *group,
                          const struct step *step, int first) {
    for (int k = 0; k < step->input_count; k++) {
        if (step->inputs[k] >= 0 && chain_is_again(group, step->inputs[k])) {
            grouping->slots[step->inputs[k]].readers--;
        }
    }
    for (int i = first; i < group->again_count; i++) {
        const struct step *producer = grouping->slots[group->again[i]].producer;
        for (int k = 0; k < producer->input_count; k++) {
            int input = producer->inputs[k];
            const struct chain_value *value = input < 0 ? NULL : value_of(group->chain, input);
            if (value && (value->kind == CHAIN_INPUT || value->is_loaded)) {
                grouping->slots[input].readers++;
            }
        }
    }
}

bool chain_again_lower(struct grouping *grouping, struct group *group, const struct step *step) {
    const struct mark before = mark_of(group);
    for (int k = 0; k < step->input_count; k++) {
        int slot = step->inputs[k];
        if (slot >= 0 && lower_row_find(step->node->op->id) && !value_of(group->chain, slot)) {
            compute(grouping, group, slot, (size_t)(step - grouping->schedule->steps), 0);
        }
    }
    bool lowered = chain_lower(grouping->schedule, step, group->chain);
    if (!lowered && group->again_count > before.again) {
        cut_off(group, &before);
        lowered = chain_lower(grouping->schedule, step, group->chain);
    }
    if (lowered) {
        count_readers(grouping, group, step, before.again);
    }
    return lowered;
}
