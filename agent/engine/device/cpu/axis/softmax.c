// SPDX-License-Identifier: Apache-2.0
/* Softmax and LogSoftmax over an axis that is not the last one, as over channels. */
#include "agent/engine/device/cpu/axis/axis.h"
#include "agent/engine/device/cpu/axis/stripe.h"
#include "agent/engine/device/cpu/chain/chain_loops.h"
#include "agent/engine/device/cpu/fast/parallel.h"
#include "agent/engine/device/cpu/vector/vector.h"
#include "agent/engine/ops/infer/reduce.h"
#include "agent/engine/ops/table.h"

#include <string.h>

struct run {
    const struct chain_loops *loops;
    struct around around;
    const float *x;
    float *y;
    bool is_log;
};

/* All rows of the stripe: y = op(a, b). */
static void compute(const struct run *run, enum chain_op op, const struct axis_stripe *stripe,
                    struct chain_operand a, struct chain_operand b) {
    struct chain_args args = {.rows = (int)run->around.size,
                              .columns = stripe->columns,
                              .out = run->y + stripe->first,
                              .out_row_step = run->around.inner,
                              .in = {a, b}};
    run->loops->run[op](&args);
}

/* `rows` rows of a into one: to = op(to, a), row by row. */
static void fold(const struct run *run, enum chain_op op, float *to, int rows, int columns,
                 const float *a) {
    struct chain_args args = {
        .rows = rows, .columns = columns, .out = to, .in = {{to, 0, 1}, {a, run->around.inner, 1}}};
    run->loops->run[op](&args);
}

/* One row: out = op(a). */
static void compute_row(const struct run *run, enum chain_op op, float *out, int columns,
                        const float *a) {
    struct chain_args args = {.rows = 1, .columns = columns, .out = out, .in = {{a, 0, 1}}};
    run->loops->run[op](&args);
}

static void softmax_stripe(void *context, int index, int lane UNUSED) {
    const struct run *run = context;
    const struct axis_stripe stripe = axis_stripe_at(&run->around, index);
    const float *x = run->x + stripe.first;
    float *y = run->y + stripe.first;
    float most[AXIS_COLUMNS_MAX], sum[AXIS_COLUMNS_MAX], spare[AXIS_COLUMNS_MAX];
    int64_t step = run->around.inner;
    int rows = (int)run->around.size, columns = stripe.columns;
    struct chain_operand own = {y, step, 1};

    memcpy(most, x, (size_t)columns * sizeof *most);
    fold(run, CHAIN_MAX, most, rows - 1, columns, x + step);
    compute(run, CHAIN_SUB, &stripe, (struct chain_operand){x, step, 1},
            (struct chain_operand){most, 0, 1});
    if (!run->is_log) {
        compute(run, CHAIN_EXP, &stripe, own, own);
    }
    memset(sum, 0, sizeof sum);
    for (int k = 0; k < rows; k++) {
        const float *row = y + k * step;
        if (run->is_log) {
            compute_row(run, CHAIN_EXP, spare, columns, row);
            row = spare;
        }
        fold(run, CHAIN_ADD, sum, 1, columns, row);
    }
    compute_row(run, run->is_log ? CHAIN_LOG : CHAIN_RECIPROCAL, sum, columns, sum);
    compute(run, run->is_log ? CHAIN_SUB : CHAIN_MUL, &stripe, own,
            (struct chain_operand){sum, 0, 1});
}

static int softmax_run(const struct call *call, struct error *err) {
    const struct cpu_device *cpu = (const struct cpu_device *)call->device;
    struct softmax softmax;
    if (softmax_params(call->node, &call->inputs[0]->shape, &softmax, err) < 0) {
        return -1;
    }
    struct run run = {.loops = chain_loops_get(cpu->vectors->isa),
                      .around = {softmax.outer, softmax.axis, softmax.inner},
                      .x = call->inputs[0]->data,
                      .y = call->outputs[0]->data,
                      .is_log = call->node->op->id == OP_LOG_SOFTMAX};
    parallel_for(cpu_threads(call), axis_stripe_count(&run.around), softmax_stripe, &run);
    return 0;
}
const struct kernel axis_softmax = {"axis Softmax", softmax_run};
