// SPDX-License-Identifier: Apache-2.0
// Appends a node to a chain, if it computes over the chain's domain.
#include <stdlib.h>

#include "agent/engine/device/cpu/chain/chain_lower.h"
#include "agent/engine/ops/table.h"

/* ---- the domain ------------------------------------------------------------------------------ */

// For a node whose full values have this shape.
static bool enter_domain(struct lower *l, const struct shape *shape) {
    struct chain *chain = l->chain;
    if (chain->domain.rank < 0) {
        chain->domain = *shape;
        return shape_count(shape) > 0;
    }
    return shape_equal(&chain->domain, shape);
}

// For a node that reduces the last `reduced` dimensions of x, or normalizes over them.
static bool enter_rows(struct lower *l, const struct shape *x, int reduced) {
    struct chain *chain = l->chain;
    if (!enter_domain(l, x) || (chain->reduced && chain->reduced != reduced)) {
        return false;
    }
    int64_t row = 1;
    for (int i = 0; i < reduced; i++) {
        row *= x->dims[x->rank - 1 - i];
    }
    chain->reduced = reduced;
    bool fits = reduced > 0 && row <= CHAIN_ROW_ELEMENTS;
    for (int i = 0; i < chain->value_count && fits; i++) {
        fits = chain->values[i].kind != CHAIN_INPUT ||
               lower_is_one_run(chain, &chain->values[i].shape);
    }
    return fits;
}

// An elementwise node computes full values, or one number per row in a chain with reductions.
static bool enter_elementwise(struct lower *l) {
    const struct shape *y = &l->schedule->slots[l->step->outputs[0]].shape;
    struct shape row = lower_row_shape(l->chain);
    if (l->chain->domain.rank >= 0 && l->chain->reduced && shape_equal(y, &row)) {
        for (int i = 0; i < l->step->input_count; i++) {
            if (l->step->inputs[i] >= 0 && !lower_is_narrow(l, lower_value(l, i))) {
                return false;
            }
        }
        return !l->failed;
    }
    return enter_domain(l, y);
}

/* ---- nodes ------------------------------------------------------------------------------------
 */

static bool enter(struct lower *l, const struct lower_row *row) {
    const struct shape *x = &l->schedule->slots[l->step->inputs[0]].shape;
    switch (row->form) {
    case FORM_REDUCE:
        return enter_rows(l, x, lower_reduced_dims(l));
    case FORM_ROWS:
        return enter_rows(l, x, lower_normalized_dims(l));
    case FORM_CHANNELS:
        return row->id == OP_BATCH_NORMALIZATION ? x->rank > 1 && enter_domain(l, x)
                                                 : x->rank > 2 && enter_rows(l, x, x->rank - 2);
    default:
        return enter_elementwise(l);
    }
}

static int lower_row(struct lower *l, const struct lower_row *row) {
    switch (row->form) {
    case FORM_ONE:
        return lower_one(l, row->op, lower_value(l, 0));
    case FORM_TWO:
        return lower_two(l, row->op, lower_value(l, 0), lower_value(l, 1));
    case FORM_FUNCTION:
        return lower_emit(l, (struct chain_instruction){.op = row->op,
                                                        .in = {lower_value(l, 0), -1, -1},
                                                        .function = row->function});
    default:
        return row->own(l);
    }
}

// float32 or bool values, one output. Comparisons are of float32 alone, logic of bool.
static bool types_fit(const struct schedule *schedule, const struct step *step) {
    const struct schedule_slot *slots = schedule->slots;
    if (step->input_count == 0 || step->inputs[0] < 0 || step->outputs[0] < 0) {
        return false;
    }
    for (int i = 0; i < step->input_count; i++) {
        // The axes of a reduction are known when it is lowered, and are not a value of the chain.
        bool is_value = i == 0 || slots[MAX(step->inputs[i], 0)].place != PLACE_CONSTANT ||
                        slots[MAX(step->inputs[i], 0)].type != TENSOR_INT64;
        if (step->inputs[i] >= 0 && is_value && slots[step->inputs[i]].type != TENSOR_FLOAT32 &&
            slots[step->inputs[i]].type != TENSOR_BOOL) {
            return false;
        }
    }
    int id = step->node->op->id;
    bool is_equal_of_bools = id == OP_EQUAL && slots[step->inputs[0]].type == TENSOR_BOOL;
    enum tensor_type type = slots[step->outputs[0]].type;
    for (int k = 1; k < step->output_count; k++) {
        if (step->outputs[k] >= 0) {
            return false;
        }
    }
    return !is_equal_of_bools && (type == TENSOR_FLOAT32 || type == TENSOR_BOOL);
}

bool chain_lower(const struct schedule *schedule, const struct step *step, struct chain *chain) {
    const struct lower_row *row = lower_row_find(step->node->op->id);
    if (!row || !types_fit(schedule, step)) {
        return false;
    }
    struct lower l = {.schedule = schedule, .step = step, .chain = chain};
    struct shape domain = chain->domain;
    int reduced = chain->reduced, values = chain->value_count;
    int instructions = chain->instruction_count;
    if (enter(&l, row)) {
        int result = lower_row(&l, row);
        // The step has a result of its own, which close_group finds by its slot.
        if (!l.failed && (result < values || chain->values[result].kind != CHAIN_RESULT)) {
            result = lower_one(&l, CHAIN_MOVE, result);
        }
        if (!l.failed) {
            chain->values[result].slot = step->outputs[0];
            return true;
        }
    }
    for (int i = values; i < chain->value_count; i++) {
        free(chain->values[i].owned);
    }
    chain->domain = domain;
    chain->reduced = reduced;
    chain->value_count = values;
    chain->instruction_count = instructions;
    return false;
}
