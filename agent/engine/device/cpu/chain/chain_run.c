// SPDX-License-Identifier: Apache-2.0
/* Runs a chain: blocks of elements, or rows with their reductions. */
#include "agent/engine/device/cpu/chain/chain_state.h"
#include "agent/engine/device/cpu/fast/parallel.h"
#include "agent/engine/device/cpu/fast/vector.h"

struct run {
    const struct call *call;
    const struct chain *chain;
    const struct chain_rows *rows; /* instead of `call`; NULL: not */
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
    const struct tensor *const *inputs = run->rows ? run->rows->inputs : run->call->inputs;
    return pointer->is_output ? run->call->outputs[pointer->index]->data
                              : inputs[pointer->index]->data;
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
    float *registers = (float *)run->call->scratch + (size_t)lane * chain->lane_floats;
    struct block block;
    block.bases[0] = (char *)registers;
    for (int64_t i = first; i < MIN(first + chain->blocks_per_unit, blocks); i++) {
        place_block(run, i, &block);
        run_tasks(chain, &block);
    }
}

static int chain_run(const struct call *call, struct error *err UNUSED) {
    const struct chain *chain = call->state;
    struct run run = {.call = call, .chain = chain};
    int64_t blocks = chain->outer_count * chain->row_blocks * chain->column_blocks;
    int64_t units = (blocks + chain->blocks_per_unit - 1) / chain->blocks_per_unit;
    parallel_for(cpu_threads(call), (int)units, run_unit, &run);
    return 0;
}
const struct kernel fast_chain = {"fast chain", chain_run};

/* ---- rows of another kernel ------------------------------------------------------------------ */

bool chain_has_rows(const struct schedule *schedule, const struct step *step, int slot) {
    const struct chain *chain = step->state;
    bool has = chain->reduced == 1 && chain->output_count == 1 &&
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

size_t chain_register_floats(const void *state) {
    return ((const struct chain *)state)->lane_floats;
}

void chain_run_rows(const void *state, const struct chain_rows *rows) {
    const struct chain *chain = state;
    struct run run = {.chain = chain, .rows = rows};
    struct block block = {.columns = (int)chain->columns};
    block.bases[0] = (char *)rows->registers;
    for (int64_t at = rows->first, end = at + rows->count; at < end; at += block.rows) {
        int64_t row = at % chain->rows;
        block.rows = (int)MIN(MIN(chain->rows - row, chain->block_rows), end - at);
        place(&run, at / chain->rows, row, 0, &block);
        run_tasks(chain, &block);
    }
}
