// SPDX-License-Identifier: Apache-2.0
/* Runs a chain: blocks of elements, or rows with their reductions. */
#include "agent/engine/device/cpu/chain/chain_state.h"
#include "agent/engine/device/cpu/fast/parallel.h"
#include "agent/engine/device/cpu/vector/vector.h"

struct run {
    const struct chain *chain;
    const struct tensor *const *inputs; /* NULL: the input is in the output's memory */
    struct tensor *const *outputs;      /* not with `rows` */
    const struct chain_rows *rows;      /* instead of one input and the output; NULL: none */
    float *scratch;                     /* chain_run: the registers of all threads */
};

/* One block: where its rows begin, and how many rows and columns it has. */
struct block {
    int rows, columns;
    char *bases[1 + CHAIN_VALUES_MAX + CHAIN_OUTPUTS_MAX]; /* by struct chain_address.base */
};

static char *memory_of(const struct run *run, const struct chain_pointer *pointer) {
    if (pointer->index < 0) {
        return (char *)(uintptr_t)pointer->data;
    }
    if (pointer->is_output) {
        return run->outputs[pointer->index]->data;
    }
    const struct tensor *input = run->inputs[pointer->index];
    return input ? input->data : run->outputs[0]->data;
}

// Whether the rows of this input or output are in run->rows.
static bool is_given(const struct run *run, const struct chain_pointer *pointer) {
    return run->rows && (pointer->is_output || pointer->index == run->rows->input);
}

// The block that begins at this row and column of a piece of the domain.
static void place(const struct run *run, int64_t outer, int64_t row, int64_t column,
                  struct block *block) {
    const struct chain *chain = run->chain;
    int64_t at[TENSOR_RANK_MAX + 1], index = outer;
    for (int i = chain->outer_rank - 1; i >= 0; i--) {
        at[i] = index % chain->outer[i];
        index /= chain->outer[i];
    }
    for (int k = 0; k < chain->pointer_count; k++) {
        const struct chain_pointer *pointer = &chain->pointers[k];
        int64_t offset = row * pointer->row_step + column * pointer->column_step;
        for (int i = 0; i < chain->outer_rank; i++) {
            offset += at[i] * pointer->outer_steps[i];
        }
        if (is_given(run, pointer)) {
            int64_t before = outer * chain->rows + row - run->rows->first;
            const float *rows = pointer->is_output ? run->rows->out : run->rows->in;
            block->bases[1 + k] = (char *)(uintptr_t)(rows + before * chain->columns);
        } else {
            block->bases[1 + k] =
                memory_of(run, pointer) + offset * (pointer->is_byte ? 1 : (int64_t)sizeof(float));
        }
    }
}

static void place_block(const struct run *run, int64_t index, struct block *block) {
    const struct chain *chain = run->chain;
    int64_t column = index % chain->column_blocks * chain->block_columns;
    index /= chain->column_blocks;
    int64_t row = index % chain->row_blocks * chain->block_rows;
    block->rows = (int)MIN(chain->rows - row, chain->block_rows);
    block->columns = (int)MIN(chain->columns - column, chain->block_columns);
    place(run, index / chain->row_blocks, row, column, block);
}

static struct chain_operand operand_at(const struct chain *chain, const struct block *block,
                                       const struct chain_address *address) {
    if (address->base < 0) {
        return (struct chain_operand){&chain->values[-1 - address->base].number, 0, 0};
    }
    return (struct chain_operand){block->bases[address->base] +
                                      address->offset * (int64_t)sizeof(float),
                                  address->row_step, address->column_step};
}

static void run_task(const struct chain *chain, const struct block *block,
                     const struct chain_task *task) {
    struct chain_args args = {.rows = block->rows,
                              .columns = block->columns,
                              .out_row_step = task->out.row_step,
                              .p = task->p,
                              .q = task->q,
                              .function = task->function};
    args.out = block->bases[task->out.base] + task->out.offset * (int64_t)sizeof(float);
    for (int i = 0; i < task->operands; i++) {
        args.in[i] = operand_at(chain, block, &task->in[i]);
    }
    if (task->by_row) { // the numbers of all rows, as one row
        args.columns = args.rows;
        args.rows = 1;
        for (int i = 0; i < task->operands; i++) {
            args.in[i].column_step = args.in[i].row_step;
        }
    } else if (task->is_flat) {
        args.columns *= args.rows;
        args.rows = 1;
    }
    chain->loops->run[task->op](&args);
}

static void run_tasks(const struct chain *chain, const struct block *block) {
    for (int k = 0; k < chain->task_count; k++) {
        run_task(chain, block, &chain->tasks[k]);
    }
}

static void run_unit(void *context, int index, int lane) {
    const struct run *run = context;
    const struct chain *chain = run->chain;
    int64_t blocks = chain->outer_count * chain->row_blocks * chain->column_blocks;
    int64_t first = index * chain->blocks_per_unit;
    float *registers = run->scratch + (size_t)lane * chain->lane_floats;
    struct block block;
    block.bases[0] = (char *)registers;
    for (int64_t i = first; i < MIN(first + chain->blocks_per_unit, blocks); i++) {
        place_block(run, i, &block);
        run_tasks(chain, &block);
    }
}

static int chain_run(const struct call *call, struct error *err UNUSED) {
    const struct chain *chain = call->state;
    struct run run = {
        .chain = chain, .inputs = call->inputs, .outputs = call->outputs, .scratch = call->scratch};
    int64_t blocks = chain->outer_count * chain->row_blocks * chain->column_blocks;
    int64_t units = (blocks + chain->blocks_per_unit - 1) / chain->blocks_per_unit;
    parallel_for(cpu_threads(call), (int)units, run_unit, &run);
    return 0;
}
const struct kernel fast_chain = {"fast chain", chain_run};

/* ---- rows of another kernel ------------------------------------------------------------------ */

// Whether the chain has one result, and reads the slot only as a value of the full shape.
static bool has_full(const struct schedule *schedule, const struct chain *chain, int slot) {
    bool has = chain->output_count == 1 &&
               schedule->slots[chain->outputs[0]].type == TENSOR_FLOAT32 &&
               shape_equal(&schedule->slots[chain->outputs[0]].shape, &chain->domain) &&
               shape_equal(&schedule->slots[slot].shape, &chain->domain);
    for (int i = 0; i < chain->value_count && has; i++) {
        const struct chain_value *value = &chain->values[i];
        has = value->kind != CHAIN_INPUT || value->slot != slot ||
              (!value->is_bool && shape_equal(&value->shape, &chain->domain));
    }
    return has;
}

bool chain_has_rows(const struct schedule *schedule, const struct step *step, int slot) {
    const struct chain *chain = step->state;
    return chain->reduced == 1 && has_full(schedule, chain, slot);
}

size_t chain_register_floats(const void *state) {
    return ((const struct chain *)state)->lane_floats;
}

void chain_run_rows(const void *state, const struct chain_rows *rows) {
    const struct chain *chain = state;
    struct run run = {.chain = chain, .inputs = rows->inputs, .rows = rows};
    struct block block = {.columns = (int)chain->columns};
    block.bases[0] = (char *)rows->registers;
    for (int64_t at = rows->first, end = at + rows->count; at < end; at += block.rows) {
        int64_t row = at % chain->rows;
        block.rows = (int)MIN(MIN(chain->rows - row, chain->block_rows), end - at);
        place(&run, at / chain->rows, row, 0, &block);
        run_tasks(chain, &block);
    }
}

/* ---- gates ----------------------------------------------------------------------------------- */

bool chain_is_gate(const struct schedule *schedule, const struct step *step, int *ret_full,
                   int *ret_gate) {
    const struct chain *chain = step->state;
    const struct shape *domain = &chain->domain;
    const struct chain_instruction *product = &chain->instructions[0];
    if (!chain->lanes || chain->instruction_count != 1 || product->op != CHAIN_MUL ||
        chain->output_count != 1) {
        return false;
    }
    const struct chain_value *a = &chain->values[product->in[0]];
    const struct chain_value *b = &chain->values[product->in[1]];
    const struct chain_value *full = shape_equal(&a->shape, domain) ? a : b;
    const struct chain_value *gate = full == a ? b : a;
    bool is_gate = full->kind == CHAIN_INPUT && gate->kind == CHAIN_INPUT && full->slot >= 0 &&
                   gate->slot >= 0 && shape_equal(&full->shape, domain) &&
                   gate->shape.rank == domain->rank && gate->shape.dims[0] == domain->dims[0] &&
                   gate->shape.dims[1] == domain->dims[1] && shape_pixels(&gate->shape) == 1 &&
                   schedule->slots[gate->slot].place != PLACE_CONSTANT;
    *ret_full = full->slot;
    *ret_gate = gate->slot;
    return is_gate;
}

/* ---- pieces of another kernel's output ------------------------------------------------------- */

static bool is_one_row(const struct chain *chain) {
    return chain->outer_count == 1 && chain->rows == 1;
}

bool chain_has_pieces(const struct schedule *schedule, const struct step *step, int slot) {
    const struct chain *chain = step->state;
    // The result replaces the value, which no later instruction may read.
    const struct chain_instruction *last = &chain->instructions[chain->instruction_count - 1];
    return chain->lanes && !chain->reduced && has_full(schedule, chain, slot) && last->out >= 0 &&
           chain->values[last->out].output == 0 &&
           (is_one_row(chain) ||
            (chain->columns == chain->lanes && chain->rows == shape_pixels(&chain->domain)));
}

void chain_run_piece(const void *state, const struct chain_piece *piece) {
    const struct chain *chain = state;
    const struct run run = {.chain = chain, .inputs = piece->inputs, .outputs = &piece->output};
    struct block block = {.rows = 1, .columns = chain->lanes};
    block.bases[0] = (char *)piece->registers;
    if (is_one_row(chain)) {
        int64_t pixels = shape_pixels(&chain->domain);
        int64_t at = (piece->plane * pixels + piece->first) * chain->lanes;
        int64_t end = at + (int64_t)piece->count * chain->lanes;
        for (; at < end; at += block.columns) {
            block.columns = (int)MIN(chain->block_columns, end - at);
            place(&run, 0, 0, at, &block);
            run_tasks(chain, &block);
        }
        return;
    }
    for (int64_t at = piece->first, end = at + piece->count; at < end; at += block.rows) {
        block.rows = (int)MIN(chain->block_rows, end - at);
        place(&run, piece->plane, at, 0, &block);
        run_tasks(chain, &block);
    }
}
