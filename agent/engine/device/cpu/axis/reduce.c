// SPDX-License-Identifier: Apache-2.0
/* Sums, means and extremes over adjacent axes before the last one, as over channels. */
#include "agent/engine/ops/infer/reduce.h"
#include "agent/engine/device/cpu/axis/axis.h"
#include "agent/engine/device/cpu/axis/stripe.h"
#include "agent/engine/device/cpu/chain/chain_loops.h"
#include "agent/engine/device/cpu/fast/parallel.h"
#include "agent/engine/device/cpu/vector/vector.h"
#include "agent/engine/ops/table.h"

#include <string.h>

enum { ROWS_A_SUM = 64 /* added up before they are added to the total: less rounding */ };

struct run {
    const struct chain_loops *loops;
    struct around around;
    const float *x;
    float *y;
    int op;
};

/* The kept dimensions before and behind the reduced ones; false: there are others between. */
static bool split_around(const struct shape *x, const struct reduce *reduce,
                         struct around *ret_around) {
    struct around around = {1, 1, 1};
    for (int i = 0; i < x->rank; i++) {
        if (x->dims[i] == 1) {
            continue;
        }
        if (!reduce->is_reduced[i]) {
            *(around.size > 1 ? &around.inner : &around.outer) *= x->dims[i];
        } else if (around.inner > 1) {
            return false;
        } else {
            around.size *= x->dims[i];
        }
    }
    *ret_around = around;
    return around.size > 1;
}

bool axis_reduce_around(const struct schedule *schedule, const struct step *step,
                        struct around *ret_around) {
    struct node_facts facts;
    struct reduce reduce;
    struct error err = {0};
    if (reduce_params(step->node, schedule_facts(schedule, step->node, &facts), &reduce, &err) <
        0) {
        error_clear(&err);
        return false;
    }
    return !reduce.is_identity &&
           split_around(&schedule->slots[step->inputs[0]].shape, &reduce, ret_around);
}

static enum chain_op fold_of(int op) {
    return op == OP_REDUCE_MAX ? CHAIN_MAX : op == OP_REDUCE_MIN ? CHAIN_MIN : CHAIN_ADD;
}

/* `rows` rows: to = op(to, a), row by row, of adjacent rows or of the same one. */
static void fold(const struct run *run, float *to, int rows, int columns, const float *a) {
    struct chain_args args = {
        .rows = rows, .columns = columns, .out = to, .in = {{to, 0, 1}, {a, run->around.inner, 1}}};
    run->loops->run[fold_of(run->op)](&args);
}

/* What of a row is added: |x| or x * x. */
static void change_row(const struct run *run, float *out, int columns, const float *x) {
    struct chain_args args = {
        .rows = 1, .columns = columns, .out = out, .in = {{x, 0, 1}, {x, 0, 1}}};
    run->loops->run[run->op == OP_REDUCE_L1 ? CHAIN_ABS : CHAIN_MUL](&args);
}

/* Folds some rows of the stripe into `to`, which the first of them begins. */
static void fold_rows(const struct run *run, const float *x, int rows, int columns, float *to) {
    bool is_changed =
        run->op == OP_REDUCE_L1 || run->op == OP_REDUCE_L2 || run->op == OP_REDUCE_SUM_SQUARE;
    int64_t step = run->around.inner;
    float changed[AXIS_COLUMNS_MAX];
    if (!is_changed) {
        memcpy(to, x, (size_t)columns * sizeof *to);
        fold(run, to, rows - 1, columns, x + step);
        return;
    }
    change_row(run, to, columns, x);
    for (int k = 1; k < rows; k++) {
        change_row(run, changed, columns, x + k * step);
        fold(run, to, 1, columns, changed);
    }
}

static void finish(const struct run *run, int columns, float *y) {
    float size = (float)run->around.size;
    struct chain_args args = {
        .rows = 1, .columns = columns, .out = y, .in = {{y, 0, 1}, {&size, 0, 0}}};
    if (run->op == OP_REDUCE_L2) {
        run->loops->run[CHAIN_SQRT](&args);
    } else if (run->op == OP_REDUCE_MEAN) {
        run->loops->run[CHAIN_DIV](&args);
    }
}

static void reduce_stripe(void *context, int index, int lane UNUSED) {
    const struct run *run = context;
    struct axis_stripe stripe = axis_stripe_at(&run->around, index);
    const float *x = run->x + stripe.first;
    int64_t size = run->around.size, inner = run->around.inner;
    float *y = run->y + stripe.first - stripe.outer * (size - 1) * inner;
    float part[AXIS_COLUMNS_MAX];
    for (int64_t k = 0; k < size; k += ROWS_A_SUM) {
        int rows = (int)MIN(size - k, ROWS_A_SUM);
        fold_rows(run, x + k * inner, rows, stripe.columns, k ? part : y);
        if (k) {
            fold(run, y, 1, stripe.columns, part);
        }
    }
    finish(run, stripe.columns, y);
}

static int reduce_run(const struct call *call, struct error *err) {
    const struct cpu_device *cpu = (const struct cpu_device *)call->device;
    struct cpu_call_facts facts = {0};
    struct reduce reduce;
    if (reduce_params(call->node, cpu_call_collect_facts(call, &facts), &reduce, err) < 0) {
        return -1;
    }
    struct run run = {.loops = chain_loops_get(cpu->vectors->isa),
                      .x = call->inputs[0]->data,
                      .y = call->outputs[0]->data,
                      .op = call->node->op->id};
    split_around(&call->inputs[0]->shape, &reduce, &run.around);
    parallel_for(cpu_threads(call), axis_stripe_count(&run.around), reduce_stripe, &run);
    return 0;
}
const struct kernel axis_reduce = {"axis Reduce", reduce_run};
