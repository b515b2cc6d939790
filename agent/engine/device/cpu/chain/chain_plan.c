// SPDX-License-Identifier: Apache-2.0
// Assigns registers and addresses to the instructions of a chain. The domain is divided into rows
// and columns: neighbouring dimensions along which all operands are adjacent, or repeated, count as
// one; the last one is the columns, and with reductions it is the reduced dimensions.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/engine/device/cpu/chain/chain_state.h"
#include "agent/engine/device/cpu/vector/vector.h"
#include "agent/engine/ops/infer/elementwise.h"

enum {
    BLOCK = 2048,       // elements: some registers of this size fit the nearest cache
    COLUMNS_SHORT = 64, // fewer columns would be computed row by row
    UNIT = 16384,       // elements at least that a thread takes at a time
    REGISTERS_MAX = CHAIN_VALUES_MAX,
};

/* ---- layouts --------------------------------------------------------------------------------- */

bool chain_slot_is_blocked(const struct schedule *schedule, const struct step *step, int slot) {
    const struct chain *chain = step->state;
    return shape_equal(&schedule->slots[slot].shape, &chain->domain);
}

// Whether the shape is one number for each channel of the domain, perhaps of each sample. Not with
// another rank above 3: such a value can be blocked itself, along another dimension.
static bool is_by_channel(const struct shape *shape, const struct shape *domain) {
    struct shape full = {.rank = domain->rank};
    for (int i = 0, missing = domain->rank - shape->rank; i < domain->rank; i++) {
        full.dims[i] = i < missing ? 1 : shape->dims[i - missing];
    }
    return (shape->rank <= 3 || shape->rank == domain->rank) &&
           (full.dims[0] == 1 || full.dims[0] == domain->dims[0]) &&
           full.dims[1] == domain->dims[1] && shape_pixels(&full) == 1;
}

bool chain_takes_blocks(const struct step *step) {
    const struct chain *chain = step->state;
    bool takes = !chain->refuses_blocks && !chain->reduced &&
                 (chain->domain.rank == 4 || chain->domain.rank == 5);
    for (int i = 0; i < chain->value_count && takes; i++) {
        const struct chain_value *value = &chain->values[i];
        takes = value->kind != CHAIN_INPUT ||
                (!value->is_bool && (shape_equal(&value->shape, &chain->domain) ||
                                     is_by_channel(&value->shape, &chain->domain)));
    }
    for (int i = 0; i < chain->instruction_count && takes; i++) {
        takes = chain->instructions[i].op != CHAIN_STORE_BOOL;
    }
    return takes;
}

void chain_refuse_blocks(struct step *step) {
    ((struct chain *)step->state)->refuses_blocks = true;
}

// Whether lanes beyond the channels, which hold zeros or other finite numbers, may become NaN or
// infinite: a convolution that reads them multiplies them by zeros.
static bool is_risky(const struct chain *chain) {
    for (int i = 0; i < chain->instruction_count; i++) {
        const struct chain_instruction *instruction = &chain->instructions[i];
        switch (instruction->op) {
        case CHAIN_DIV:
            if (chain->values[instruction->in[1]].kind != CHAIN_NUMBER) {
                return true;
            }
            break;
        case CHAIN_POW:
        case CHAIN_LOG:
        case CHAIN_LOG1P:
        case CHAIN_SQRT:
        case CHAIN_RECIPROCAL:
        case CHAIN_FUNCTION:
            return true;
        default:
            break;
        }
    }
    return false;
}

bool chain_blocks_fit(const struct schedule *schedule, const struct step *step, int block) {
    const struct chain *chain = step->state;
    bool whole = chain->domain.dims[1] % block == 0, fits = whole || !is_risky(chain);
    for (int i = 0; i < step->input_count && fits; i++) {
        const struct schedule_slot *slot = &schedule->slots[step->inputs[i]];
        fits = chain_slot_is_blocked(schedule, step, step->inputs[i])
                   ? slot->layout != 0
                   : slot->layout || whole || slot->place == PLACE_CONSTANT;
    }
    for (int i = 0; i < step->output_count && fits; i++) {
        fits = schedule->slots[step->outputs[i]].layout != 0;
    }
    return fits;
}

/* ---- dimensions ------------------------------------------------------------------------------ */

struct plan {
    const struct schedule *schedule;
    struct chain *chain;
    int block; // of the blocked layout; 0: row-major
    int rank;
    int64_t dims[TENSOR_RANK_MAX + 1];
    int64_t steps[CHAIN_VALUES_MAX + CHAIN_OUTPUTS_MAX][TENSOR_RANK_MAX + 1]; // by pointer
};

static void domain_dims(struct plan *plan) {
    const struct shape *domain = &plan->chain->domain;
    plan->rank = domain->rank;
    memcpy(plan->dims, domain->dims, sizeof domain->dims);
    if (plan->block) { // [n, C / b, pixels, b]
        plan->rank = 4;
        plan->dims[1] = (domain->dims[1] + plan->block - 1) / plan->block;
        plan->dims[2] = shape_pixels(domain);
        plan->dims[3] = plan->block;
    }
}

static void adjacent_steps(const struct plan *plan, int first_missing, int64_t *steps) {
    int64_t step = 1;
    for (int i = plan->rank - 1; i >= 0; i--) {
        steps[i] = i >= first_missing ? 0 : step;
        step *= i >= first_missing ? 1 : plan->dims[i];
    }
}

// A blocked chain's operand with numbers for channels: row-major, or blocked with one pixel.
static void channel_steps(const struct plan *plan, const struct chain_value *value,
                          int64_t *steps) {
    bool by_sample = value->shape.rank == plan->chain->domain.rank && value->shape.dims[0] > 1;
    int64_t per_sample = plan->dims[1] * plan->block;
    memcpy(steps, (int64_t[4]){by_sample ? per_sample : 0, plan->block, 0, 1}, 4 * sizeof *steps);
}

// The constant with room for whole blocks.
static void pad_channels(const struct plan *plan, struct chain_value *value) {
    const float *from = value->owned ? value->owned : plan->schedule->slots[value->slot].constant;
    int64_t channels = plan->chain->domain.dims[1], wide = plan->dims[1] * plan->block;
    int64_t samples = shape_count(&value->shape) / channels;
    float *padded = x_calloc((size_t)(samples * wide), sizeof *padded);
    for (int64_t i = 0; i < samples; i++) {
        memcpy(padded + i * wide, from + i * channels, (size_t)channels * sizeof *padded);
    }
    free(value->owned);
    value->owned = padded;
}

static void input_steps(struct plan *plan, struct chain_value *value, int64_t *steps) {
    const struct chain *chain = plan->chain;
    bool is_full = shape_equal(&value->shape, &chain->domain);
    if (!plan->block) {
        elementwise_broadcast_strides(&value->shape, &chain->domain, steps);
    } else if (is_full) {
        adjacent_steps(plan, plan->rank, steps);
    } else {
        channel_steps(plan, value, steps);
        bool is_constant =
            value->owned || plan->schedule->slots[value->slot].place == PLACE_CONSTANT;
        if (is_constant && chain->domain.dims[1] % plan->block) {
            pad_channels(plan, value);
        }
    }
}

static void add_pointer(struct plan *plan, struct chain_pointer pointer) {
    struct chain *chain = plan->chain;
    chain->pointers[chain->pointer_count++] = pointer;
}

static int input_index(const struct chain *chain, int slot) {
    int index = 0;
    while (chain->inputs[index] != slot) {
        index++;
    }
    return index;
}

// Pointers: one for each value that is an input, then one for each output.
static void list_pointers(struct plan *plan) {
    struct chain *chain = plan->chain;
    chain->pointers =
        x_calloc((size_t)(chain->value_count + chain->output_count), sizeof *chain->pointers);
    for (int i = 0; i < chain->value_count; i++) {
        struct chain_value *value = &chain->values[i];
        if (value->kind == CHAIN_INPUT) {
            input_steps(plan, value, plan->steps[chain->pointer_count]);
            bool owned = value->owned;
            add_pointer(
                plan, (struct chain_pointer){.is_byte = value->is_bool,
                                             .index = owned ? -1 : input_index(chain, value->slot),
                                             .data = value->owned});
        }
    }
    for (int i = 0; i < chain->output_count; i++) {
        const struct schedule_slot *slot = &plan->schedule->slots[chain->outputs[i]];
        bool is_row = shape_count(&slot->shape) != shape_count(&chain->domain);
        adjacent_steps(plan, is_row ? plan->rank - chain->reduced : plan->rank,
                       plan->steps[chain->pointer_count]);
        add_pointer(plan, (struct chain_pointer){
                              .is_output = true, .is_byte = slot->type == TENSOR_BOOL, .index = i});
    }
}

static bool can_merge(const struct plan *plan, int i) {
    for (int k = 0; k < plan->chain->pointer_count; k++) {
        if (plan->steps[k][i] != plan->steps[k][i + 1] * plan->dims[i + 1]) {
            return false;
        }
    }
    return true;
}

static void remove_dim(struct plan *plan, int at) {
    for (int i = at; i + 1 < plan->rank; i++) {
        plan->dims[i] = plan->dims[i + 1];
        for (int k = 0; k < plan->chain->pointer_count; k++) {
            plan->steps[k][i] = plan->steps[k][i + 1];
        }
    }
    plan->rank--;
}

// Merges the dimensions [first, last] as far as possible; returns how many are left of them.
static int merge_dims(struct plan *plan, int first, int last) {
    for (int i = last - 1; i >= first; i--) {
        if (plan->dims[i] == 1 || plan->dims[i + 1] == 1 || can_merge(plan, i)) {
            bool second_is_one = plan->dims[i + 1] == 1;
            plan->dims[i + 1] *= plan->dims[i];
            for (int k = 0; k < plan->chain->pointer_count && second_is_one; k++) {
                plan->steps[k][i + 1] = plan->steps[k][i];
            }
            remove_dim(plan, i);
            last--;
        }
    }
    return last - first + 1;
}

// Divides the dimensions into outer ones, rows and columns.
static void divide(struct plan *plan) {
    struct chain *chain = plan->chain;
    int reduced = chain->reduced;
    if (reduced) {
        int left = merge_dims(plan, plan->rank - reduced, plan->rank - 1);
        assert(left == 1); // is_one_run
        (void)left;
        merge_dims(plan, 0, plan->rank - 2);
    } else if (plan->rank) {
        merge_dims(plan, 0, plan->rank - 1);
    }
    chain->columns = plan->rank > 0 ? plan->dims[plan->rank - 1] : 1;
    chain->rows = plan->rank > 1 ? plan->dims[plan->rank - 2] : 1;
    chain->outer_rank = MAX(plan->rank - 2, 0);
    chain->outer_count = 1;
    for (int i = 0; i < chain->outer_rank; i++) {
        chain->outer[i] = plan->dims[i];
        chain->outer_count *= plan->dims[i];
    }
    for (int k = 0; k < chain->pointer_count; k++) {
        struct chain_pointer *pointer = &chain->pointers[k];
        memcpy(pointer->outer_steps, plan->steps[k], sizeof pointer->outer_steps);
        pointer->column_step = plan->rank > 0 ? plan->steps[k][plan->rank - 1] : 0;
        pointer->row_step = plan->rank > 1 ? plan->steps[k][plan->rank - 2] : 0;
    }
}

static void choose_blocks(struct chain *chain) {
    int64_t columns = chain->reduced ? chain->columns : MIN(chain->columns, BLOCK);
    chain->block_columns = (int)columns;
    chain->block_rows = (int)MIN(chain->rows, MAX(BLOCK / columns, 1));
    chain->row_blocks = (chain->rows + chain->block_rows - 1) / chain->block_rows;
    chain->column_blocks = (chain->columns + columns - 1) / columns;
    int64_t elements = (int64_t)chain->block_rows * chain->block_columns;
    chain->blocks_per_unit = MAX(UNIT / elements, 1);
    chain->register_floats = ((size_t)elements + 15) / 16 * 16;
}

/* ---- registers and addresses ----------------------------------------------------------------- */

struct assigner {
    struct plan *plan;
    bool is_flat; // short columns: all full operands are adjacent rows, or copied to be
    int place[CHAIN_VALUES_MAX];   // by value: its register; -1: none
    int pointer[CHAIN_VALUES_MAX]; // by value: its pointer; -1: none
    int first_output;              // the pointer of output 0
    bool taken[REGISTERS_MAX];
    int used;
};

static int take_register(struct assigner *a) {
    int at = 0;
    while (a->taken[at]) {
        at++;
    }
    a->taken[at] = true;
    a->used = MAX(a->used, at + 1);
    return at;
}

static struct chain_address register_address(const struct chain *chain, int at, bool is_row) {
    return (struct chain_address){.base = 0,
                                  .offset = (int64_t)at * (int64_t)chain->register_floats,
                                  .row_step = is_row ? 1 : chain->block_columns,
                                  .column_step = is_row ? 0 : 1};
}

static struct chain_address pointer_address(const struct chain *chain, int pointer) {
    const struct chain_pointer *from = &chain->pointers[pointer];
    return (struct chain_address){
        .base = 1 + pointer, .row_step = from->row_step, .column_step = from->column_step};
}

static void add_task(struct chain *chain, struct chain_task task) {
    chain->tasks[chain->task_count++] = task;
}

// Whether the operation's loop reads an operand that is the same for all pixels of a block as it
// is.
static bool reads_one_pixel(const struct chain *chain, enum chain_op op,
                            const struct chain_pointer *from) {
    return chain->lanes && chain->columns == chain->lanes && op <= CHAIN_PRELU &&
           from->column_step == 1 && from->row_step == 0;
}

// In a flat block an operand that is repeated along rows or columns is copied to a register, as
// often as the block has elements.
static bool needs_copy(const struct assigner *a, int value, enum chain_op op) {
    const struct chain *chain = a->plan->chain;
    const struct chain_value *v = &chain->values[value];
    if (!a->is_flat || v->is_bool || v->kind == CHAIN_NUMBER || a->place[value] >= 0) {
        return false;
    }
    const struct chain_pointer *from = &chain->pointers[a->pointer[value]];
    return (from->column_step != 1 || from->row_step != chain->columns) &&
           !reads_one_pixel(chain, op, from);
}

static struct chain_address operand_address(struct assigner *a, int value, enum chain_op op) {
    struct chain *chain = a->plan->chain;
    const struct chain_value *v = &chain->values[value];
    if (v->kind == CHAIN_NUMBER) { // chain_run.c knows numbers by their base
        return (struct chain_address){.base = -1 - value};
    }
    if (needs_copy(a, value, op)) {
        a->place[value] = take_register(a);
        add_task(chain,
                 (struct chain_task){.op = CHAIN_MOVE,
                                     .operands = 1,
                                     .in = {pointer_address(chain, a->pointer[value])},
                                     .out = register_address(chain, a->place[value], false)});
    }
    return a->place[value] >= 0 ? register_address(chain, a->place[value], v->is_row)
                                : pointer_address(chain, a->pointer[value]);
}

// Gives back the registers of operands that are read for the last time: of those with one number
// per row, of the full ones, or of both. Their addresses are in the task already.
static void release_operands(struct assigner *a, int at, bool of_rows, bool full) {
    const struct chain *chain = a->plan->chain;
    for (int i = 0; i < 3; i++) {
        int value = chain->instructions[at].in[i];
        if (value >= 0 && a->place[value] >= 0 && chain->values[value].last_use == at &&
            (chain->values[value].is_row ? of_rows : full)) {
            a->taken[a->place[value]] = false;
            a->place[value] = -1;
        }
    }
}

static struct chain_address result_address(struct assigner *a, int value) {
    struct chain *chain = a->plan->chain;
    const struct chain_value *v = &chain->values[value];
    if (v->output >= 0) {
        return pointer_address(chain, a->pointer[value]);
    }
    a->place[value] = take_register(a);
    return register_address(chain, a->place[value], v->is_row);
}

static bool is_adjacent(const struct chain *chain, const struct chain_address *address) {
    return address->base < 0 || (address->column_step == 1 &&
                                 (address->row_step == chain->columns || chain->block_rows == 1));
}

static struct chain_address out_address(struct assigner *a, int at) {
    const struct chain_instruction *from = &a->plan->chain->instructions[at];
    if (from->out < 0) {
        return pointer_address(a->plan->chain, a->first_output + from->stored_bool);
    }
    bool is_row = a->plan->chain->values[from->out].is_row;
    if (!chain_reduces(from->op)) {
        // The result may replace an operand with as many numbers: each is read before.
        release_operands(a, at, is_row, !is_row);
    }
    struct chain_address address = result_address(a, from->out);
    release_operands(a, at, true, true);
    return address;
}

static void add_instruction(struct assigner *a, int at) {
    struct chain *chain = a->plan->chain;
    const struct chain_instruction *from = &chain->instructions[at];
    struct chain_task task = {
        .op = from->op, .p = from->p, .q = from->q, .function = from->function};
    bool reduces = chain_reduces(from->op);
    int operands = 0;
    for (; operands < 3 && from->in[operands] >= 0; operands++) {
        task.in[operands] = operand_address(a, from->in[operands], from->op);
    }
    task.operands = operands;
    task.out = out_address(a, at);
    bool is_row =
        from->out < 0 ? chain->values[from->in[0]].is_row : chain->values[from->out].is_row;
    task.by_row = is_row && !reduces;
    task.is_flat =
        !is_row && chain->block_columns == chain->columns && is_adjacent(chain, &task.out);
    for (int i = 0; i < operands; i++) {
        task.is_flat = task.is_flat && is_adjacent(chain, &task.in[i]);
    }
    add_task(chain, task);
}

static void assign(struct plan *plan) {
    struct chain *chain = plan->chain;
    struct assigner a = {.plan = plan};
    a.is_flat = !chain->reduced && chain->columns < COLUMNS_SHORT && chain->rows > 1;
    int pointer = 0;
    for (int i = 0; i < CHAIN_VALUES_MAX; i++) {
        a.place[i] = a.pointer[i] = -1;
    }
    for (int i = 0; i < chain->value_count; i++) {
        a.pointer[i] = chain->values[i].kind == CHAIN_INPUT ? pointer++ : -1;
    }
    a.first_output = pointer;
    for (int i = 0; i < chain->value_count; i++) {
        const struct chain_value *value = &chain->values[i];
        a.pointer[i] = value->output >= 0 ? pointer + value->output : a.pointer[i];
    }
    chain->tasks =
        x_calloc((size_t)chain->instruction_count + CHAIN_VALUES_MAX, sizeof *chain->tasks);
    for (int i = 0; i < chain->instruction_count; i++) {
        add_instruction(&a, i);
    }
    chain->lane_floats = (size_t)a.used * chain->register_floats;
}

static void find_last_uses(struct chain *chain) {
    for (int i = 0; i < chain->instruction_count; i++) {
        for (int k = 0; k < 3; k++) {
            if (chain->instructions[i].in[k] >= 0) {
                chain->values[chain->instructions[i].in[k]].last_use = i;
            }
        }
    }
}

void chain_prepare(const struct cpu_device *cpu, const struct schedule *schedule,
                   struct step *step) {
    struct chain *chain = step->state;
    struct plan plan = {.schedule = schedule, .chain = chain};
    bool blocked = chain_takes_blocks(step) && step->output_count > 0 &&
                   schedule->slots[step->outputs[0]].layout != 0;
    plan.block = chain->lanes = blocked ? cpu->vectors->block : 0;
    domain_dims(&plan);
    list_pointers(&plan);
    divide(&plan);
    choose_blocks(chain);
    chain_merge(chain);
    find_last_uses(chain);
    assign(&plan);
    chain->loops = chain_loops_get(cpu->vectors->isa);
    step->scratch_bytes = (size_t)threads_count(cpu->threads) * chain->lane_floats * sizeof(float);
}
