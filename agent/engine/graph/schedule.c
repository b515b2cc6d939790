// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/graph/schedule.h"

#include <stdlib.h>
#include <string.h>

static void fill_slots(struct schedule *schedule, const struct fact *facts) {
    const struct graph *graph = schedule->graph;
    for (size_t i = 0; i < schedule->slot_count; i++) {
        struct schedule_slot *slot = &schedule->slots[i];
        slot->type = facts[i].type;
        slot->shape = facts[i].shape;
        slot->view_of = -1;
        if (facts[i].known) {
            slot->place = PLACE_CONSTANT;
            slot->constant = facts[i].known;
            slot->is_lasting = graph->values[i].is_constant;
        }
        int64_t count = shape_count(&slot->shape);
        slot->size_bytes = (size_t)MAX(count, 0) * tensor_type_size(slot->type);
    }
    for (size_t i = 0; i < graph->input_count; i++) {
        schedule->slots[graph->inputs[i]].place = PLACE_INPUT;
    }
    for (size_t i = 0; i < graph->output_count; i++) {
        schedule->slots[graph->outputs[i]].is_output = true;
    }
}

/* True if the node computes a value that is needed and no constant. */
static bool makes_needed(const struct schedule *schedule, const struct node *node,
                         const bool *needed) {
    for (int i = 0; i < node->output_count; i++) {
        int slot = node->outputs[i];
        if (slot >= 0 && needed[slot] && schedule->slots[slot].place != PLACE_CONSTANT) {
            return true;
        }
    }
    return false;
}

/* Marks the values that are needed: the outputs, and the values from which a needed value is
 * made. */
static bool *find_needed(const struct schedule *schedule, struct arena *scratch) {
    const struct graph *graph = schedule->graph;
    bool *needed = arena_array(scratch, schedule->slot_count, sizeof *needed);
    for (size_t i = 0; i < graph->output_count; i++) {
        needed[graph->outputs[i]] = true;
    }
    for (size_t n = graph->node_count; n-- > 0;) {
        const struct node *node = &graph->nodes[n];
        bool makes = makes_needed(schedule, node, needed);
        for (int i = 0; makes && i < node->input_count; i++) {
            if (node->inputs[i] >= 0) {
                needed[node->inputs[i]] = true;
            }
        }
    }
    return needed;
}

static void make_view(struct schedule *schedule, int to, int from) {
    struct schedule_slot *slot = &schedule->slots[to];
    int root = schedule->slots[from].place == PLACE_VIEW ? schedule->slots[from].view_of : from;
    slot->place = PLACE_VIEW;
    slot->view_of = root;
}

static bool is_view(const struct schedule *schedule, const struct node *node) {
    if (node->outputs[0] < 0 || (node->output_count > 1 && node->outputs[1] >= 0)) {
        return false;
    }
    return (node->op->flags & OP_VIEW) ||
           ((node->op->flags & OP_SAME) && shape_equal(&schedule->slots[node->inputs[0]].shape,
                                                       &schedule->slots[node->outputs[0]].shape));
}

static void add_step(struct schedule *schedule, const struct node *node) {
    struct step *step = &schedule->steps[schedule->step_count++];
    *step = (struct step){
        .node = node, .input_count = node->input_count, .output_count = node->output_count};
    step->inputs = arena_array(&schedule->arena, (size_t)node->input_count, sizeof(int));
    step->outputs = arena_array(&schedule->arena, (size_t)node->output_count, sizeof(int));
    if (node->input_count) {
        memcpy(step->inputs, node->inputs, (size_t)node->input_count * sizeof(int));
    }
    memcpy(step->outputs, node->outputs, (size_t)node->output_count * sizeof(int));
    for (int i = 0; i < node->output_count; i++) {
        if (step->outputs[i] >= 0) {
            schedule->slots[step->outputs[i]].place = PLACE_ARENA;
        }
    }
}

/* A view with the same shape (SumTo without anything to sum) is the same value as its source, so it
 * does not require that to be row-major. */
static void resolve_same(struct schedule *schedule) {
    struct schedule_slot *slots = schedule->slots;
    for (size_t i = 0; i < schedule->slot_count; i++) {
        slots[i].viewed = false;
    }
    for (size_t n = 0; n < schedule->step_count; n++) {
        struct step *step = &schedule->steps[n];
        for (int k = 0; k < step->input_count; k++) {
            int slot = step->inputs[k];
            if (slot >= 0 && slots[slot].place == PLACE_VIEW) {
                int root = slots[slot].view_of;
                bool is_same = shape_equal(&slots[slot].shape, &slots[root].shape);
                step->inputs[k] = is_same ? root : slot;
                slots[root].viewed |= !is_same;
            }
        }
    }
    for (size_t i = 0; i < schedule->graph->output_count; i++) {
        const struct schedule_slot *output = &slots[schedule->graph->outputs[i]];
        if (output->place == PLACE_VIEW) {
            slots[output->view_of].viewed = true;
        }
    }
}

int schedule_new(struct graph *graph, const struct fact *facts, struct arena *arena,
                 struct schedule **ret_schedule, struct error *err) {
    if (graph->node_count > GRAPH_NODES_MAX || graph->value_count > GRAPH_VALUES_MAX) {
        return error_set(err, ERROR_INVALID, "the graph has %zu nodes, at most %d are supported",
                         graph->node_count, GRAPH_NODES_MAX);
    }
    struct schedule *schedule = x_calloc(1, sizeof *schedule);
    schedule->graph = graph;
    schedule->arena = *arena;
    *arena = (struct arena){0};
    schedule->slot_count = graph->value_count;
    schedule->slots =
        arena_array(&schedule->arena, graph->value_count, sizeof(struct schedule_slot));
    schedule->steps = arena_array(&schedule->arena, graph->node_count, sizeof(struct step));
    fill_slots(schedule, facts);
    struct arena scratch = {0};
    const bool *needed = find_needed(schedule, &scratch);
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct node *node = &graph->nodes[n];
        bool makes = makes_needed(schedule, node, needed);
        if (makes && is_view(schedule, node)) {
            make_view(schedule, node->outputs[0], node->inputs[0]);
        } else if (makes) {
            add_step(schedule, node);
        }
    }
    arena_release(&scratch);
    resolve_same(schedule);
    *ret_schedule = schedule;
    return 0;
}

int schedule_bind(struct schedule *schedule, int output) {
    const struct schedule_slot *slot = &schedule->slots[output];
    int root = slot->place == PLACE_VIEW ? slot->view_of : output;
    if (schedule->slots[root].place != PLACE_ARENA) {
        return -1;
    }
    schedule->slots[root].place = PLACE_BOUND;
    return root;
}

void schedule_free(struct schedule *schedule) {
    if (!schedule) {
        return;
    }
    for (size_t i = 0; i < schedule->step_count; i++) {
        struct step *step = &schedule->steps[i];
        if (step->release && step->state) {
            step->release(step->state);
        }
    }
    arena_release(&schedule->arena);
    free(schedule);
}

struct step *schedule_producer(const struct schedule *schedule, int slot) {
    for (size_t i = 0; i < schedule->step_count; i++) {
        struct step *step = &schedule->steps[i];
        for (int k = 0; step->node && k < step->output_count; k++) {
            if (step->outputs[k] == slot) {
                return step;
            }
        }
    }
    return NULL;
}

struct step *schedule_only_user(const struct schedule *schedule, int slot) {
    if (slot < 0 || schedule->slots[slot].viewed || schedule->slots[slot].is_output ||
        schedule->slots[slot].place != PLACE_ARENA) {
        return NULL;
    }
    struct step *user = NULL;
    for (size_t i = 0; i < schedule->step_count; i++) {
        struct step *step = &schedule->steps[i];
        for (int k = 0; step->node && k < step->input_count; k++) {
            if (step->inputs[k] == slot && user) {
                return NULL; /* two users, or one user that reads it twice */
            }
            if (step->inputs[k] == slot) {
                user = step;
            }
        }
    }
    return user;
}

struct step *schedule_absorb(struct schedule *schedule, struct step *first, struct step *second) {
    for (int i = 0; i < first->output_count; i++) {
        if (first->outputs[i] >= 0) {
            schedule->slots[first->outputs[i]].place = PLACE_NONE;
        }
    }
    first->outputs = second->outputs;
    first->output_count = second->output_count;
    *second = *first;
    *first = (struct step){0};
    return second;
}

struct step *schedule_absorb_output(struct schedule *schedule, struct step *first,
                                    struct step *second) {
    schedule->slots[first->outputs[0]].place = PLACE_NONE;
    first->outputs[0] = second->outputs[0];
    *second = *first;
    *first = (struct step){0};
    return second;
}

static int *append(struct schedule *schedule, const int *list, int count, int slot) {
    int *longer = arena_array(&schedule->arena, (size_t)count + 1, sizeof *longer);
    if (count) {
        memcpy(longer, list, (size_t)count * sizeof *longer);
    }
    longer[count] = slot;
    return longer;
}

int schedule_add_input(struct schedule *schedule, struct step *step, int slot) {
    step->inputs = append(schedule, step->inputs, step->input_count, slot);
    return step->input_count++;
}

int schedule_add_output(struct schedule *schedule, struct step *step, int slot) {
    step->outputs = append(schedule, step->outputs, step->output_count, slot);
    return step->output_count++;
}

struct step *schedule_first_user(const struct schedule *schedule, int slot) {
    for (size_t i = 0; i < schedule->step_count; i++) {
        struct step *step = &schedule->steps[i];
        for (int k = 0; step->node && k < step->input_count; k++) {
            if (step->inputs[k] == slot) {
                return step;
            }
        }
    }
    return NULL;
}

const struct fact *const *schedule_facts(const struct schedule *schedule, const struct node *node,
                                         struct node_facts *ret_facts) {
    for (int i = 0; i < (int)ARRAY_LEN(ret_facts->facts); i++) {
        int slot = i < node->input_count ? node->inputs[i] : -1;
        ret_facts->inputs[i] = slot < 0 ? NULL : &ret_facts->facts[i];
        if (slot >= 0) {
            const struct schedule_slot *from = &schedule->slots[slot];
            ret_facts->facts[i] = (struct fact){from->type, from->shape, from->constant};
        }
    }
    return ret_facts->inputs;
}
