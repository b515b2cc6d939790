// SPDX-License-Identifier: Apache-2.0
// Which steps become one chain. Steps are visited in their order. A step joins the open chain that
// makes one of its inputs, or begins one. A chain runs where its last step was, so it is closed
// when another step reads one of its values: what follows might depend on that step.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/engine/device/cpu/chain/chain_group.h"
#include "agent/engine/device/cpu/chain/chain_lower.h"

void chain_free(void *state) {
    struct chain *chain = state;
    if (chain) {
        for (int i = 0; i < chain->value_count; i++) {
            free(chain->values[i].owned);
        }
        free(chain->tasks);
        free(chain->pointers);
        free(chain);
    }
}

static int root_of(const struct schedule *schedule, int slot) {
    return schedule->slots[slot].place == PLACE_VIEW ? schedule->slots[slot].view_of : slot;
}

/* ---- the end of a group ---------------------------------------------------------------------- */

static int reads_of_group(const struct group *group, int slot) {
    int count = 0;
    for (int i = 0; i < group->step_count; i++) {
        for (int k = 0; k < group->steps[i]->input_count; k++) {
            count += group->steps[i]->inputs[k] == slot;
        }
    }
    return count;
}

// Whether anything but the group's own steps needs the slot.
static bool is_needed(const struct grouping *grouping, const struct group *group, int slot) {
    const struct schedule_slot *from = &grouping->schedule->slots[slot];
    return from->is_output || from->viewed || from->place == PLACE_BOUND ||
           grouping->slots[slot].readers > reads_of_group(group, slot);
}

// The inputs that the chain's values name.
static void list_inputs(struct chain *chain) {
    for (int i = 0; i < chain->value_count; i++) {
        const struct chain_value *value = &chain->values[i];
        bool known = value->kind != CHAIN_INPUT || value->slot < 0;
        for (int k = 0; k < chain->input_count && !known; k++) {
            known = chain->inputs[k] == value->slot;
        }
        if (!known) {
            chain->inputs[chain->input_count++] = value->slot;
        }
    }
}

static int result_of(const struct chain *chain, int slot) {
    int value = chain->value_count - 1;
    while (value >= 0 &&
           !(chain->values[value].slot == slot && chain->values[value].kind == CHAIN_RESULT)) {
        value--;
    }
    return value;
}

// Stores the value of a slot that others need. There is room for one of each step.
static void store_slot(const struct schedule *schedule, struct chain *chain, int slot) {
    int value = result_of(chain, slot);
    assert(value >= 0 && chain->output_count < CHAIN_OUTPUTS_MAX);
    if (schedule->slots[slot].type == TENSOR_BOOL) {
        chain->instructions[chain->instruction_count++] =
            (struct chain_instruction){.op = CHAIN_STORE_BOOL,
                                       .in = {value, -1, -1},
                                       .out = -1,
                                       .stored_bool = chain->output_count};
    } else {
        chain->values[value].output = chain->output_count;
    }
    chain->outputs[chain->output_count++] = slot;
}

static int *copy_slots(struct schedule *schedule, const int *slots, int count) {
    int *copy = arena_array(&schedule->arena, (size_t)MAX(count, 1), sizeof *copy);
    memcpy(copy, slots, (size_t)count * sizeof *copy);
    return copy;
}

static void close_group(struct grouping *grouping, struct group *group) {
    struct schedule *schedule = grouping->schedule;
    struct chain *chain = group->chain;
    list_inputs(chain);
    for (int i = 0; i < group->step_count; i++) {
        int slot = group->steps[i]->outputs[0];
        if (is_needed(grouping, group, slot)) {
            store_slot(schedule, chain, slot);
        }
    }
    struct step *last = group->steps[group->step_count - 1];
    const struct node *node = last->node;
    bool is_read = chain->output_count > 0; // else other chains compute all of it again
    for (int i = 0; i < group->step_count; i++) {
        int slot = group->steps[i]->outputs[0];
        bool stored = false;
        for (int k = 0; k < chain->output_count; k++) {
            stored = stored || chain->outputs[k] == slot;
        }
        if (!stored) {
            schedule->slots[slot].place = PLACE_NONE;
        }
        *group->steps[i] = (struct step){0};
    }
    if (!is_read) {
        chain_free(chain);
        return;
    }
    *last = (struct step){.node = node,
                          .input_count = chain->input_count,
                          .output_count = chain->output_count,
                          .inputs = copy_slots(schedule, chain->inputs, chain->input_count),
                          .outputs = copy_slots(schedule, chain->outputs, chain->output_count),
                          .kernel = &fast_chain,
                          .state = chain,
                          .release = chain_free};
}

/* ---- joining --------------------------------------------------------------------------------- */

static void close_makers(struct grouping *grouping, const struct step *step,
                         const struct group *except) {
    for (int k = 0; k < step->input_count; k++) {
        int slot = step->inputs[k] < 0 ? -1 : root_of(grouping->schedule, step->inputs[k]);
        struct group *group = slot < 0 ? NULL : grouping->slots[slot].maker;
        if (!group || group == except || (except && chain_is_again(except, slot))) {
            continue;
        }
        for (int i = 0; i < group->step_count; i++) {
            grouping->slots[group->steps[i]->outputs[0]].maker = NULL;
        }
        group->step_count = -group->step_count; // closed; finished by finish_groups
    }
}

// Whether the step reads a value of the group through a view, which is in memory only.
static bool reads_view(const struct grouping *grouping, const struct group *group,
                       const struct step *step) {
    for (int k = 0; k < step->input_count; k++) {
        int slot = step->inputs[k];
        if (slot >= 0 && grouping->schedule->slots[slot].place == PLACE_VIEW &&
            grouping->slots[root_of(grouping->schedule, slot)].maker == group) {
            return true;
        }
    }
    return false;
}

static bool join(struct grouping *grouping, struct group *group, struct step *step) {
    if (group->step_count == CHAIN_STEPS_MAX || reads_view(grouping, group, step) ||
        !chain_again_lower(grouping, group, step)) {
        return false;
    }
    group->steps[group->step_count++] = step;
    grouping->slots[step->outputs[0]].maker = group;
    return true;
}

static struct group *join_any(struct grouping *grouping, struct step *step) {
    for (int k = 0; k < step->input_count; k++) {
        int slot = step->inputs[k];
        struct group *group = slot < 0 ? NULL : grouping->slots[slot].maker;
        if (group && join(grouping, group, step)) {
            return group;
        }
    }
    return NULL;
}

static struct group *begin_group(struct grouping *grouping, struct step *step) {
    struct group *group = x_calloc(1, sizeof *group);
    group->chain = x_calloc(1, sizeof *group->chain);
    group->chain->domain.rank = -1;
    group->chain->refuses_blocks = !grouping->allows_blocks;
    if (!join(grouping, group, step)) {
        chain_free(group->chain);
        free(group);
        return NULL;
    }
    return group;
}

static void look_at_slots(struct grouping *grouping) {
    const struct schedule *schedule = grouping->schedule;
    for (size_t i = 0; i < schedule->step_count; i++) {
        struct step *step = &schedule->steps[i];
        bool is_other = step->node && (step->kernel || !lower_row_find(step->node->op->id));
        for (int k = 0; step->node && k < step->input_count; k++) {
            if (step->inputs[k] >= 0) {
                struct group_slot *slot = &grouping->slots[step->inputs[k]];
                slot->readers++;
                slot->has_others |= is_other;
                slot->last_reader = i;
                grouping->slots[root_of(schedule, step->inputs[k])].last_reader = i;
            }
        }
        for (int k = 0; step->node && k < step->output_count; k++) {
            if (step->outputs[k] >= 0) {
                grouping->slots[step->outputs[k]].producer = step;
            }
        }
    }
}

void chain_fuse(struct schedule *schedule, bool allows_blocks) {
    struct grouping grouping = {.schedule = schedule, .allows_blocks = allows_blocks};
    grouping.slots = x_calloc(schedule->slot_count, sizeof *grouping.slots);
    look_at_slots(&grouping);
    struct group *groups = NULL;
    for (size_t i = 0; i < schedule->step_count; i++) {
        struct step *step = &schedule->steps[i];
        if (!step->node) {
            continue;
        }
        struct group *group = step->kernel ? NULL : join_any(&grouping, step);
        close_makers(&grouping, step, group);
        struct group *begun = group || step->kernel ? NULL : begin_group(&grouping, step);
        if (begun) {
            begun->next = groups;
            groups = begun;
        }
    }
    for (struct group *group = groups, *next; group; group = next) {
        next = group->next;
        group->step_count = abs(group->step_count);
        close_group(&grouping, group);
        free(group);
    }
    free(grouping.slots);
}
