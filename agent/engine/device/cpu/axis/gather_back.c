// SPDX-License-Identifier: Apache-2.0
/* The gradient of Gather, as of an embedding: rows of dy are added to those rows of dx that they
 * were read from, in their order, so results do not depend on the number of threads. */
#include "agent/engine/device/cpu/axis/axis.h"
#include "agent/engine/ops/table.h"

enum {
    COLUMNS = 64, /* of a row, at most, for a unit of work: an embedding has no other units */
    ELEMENTS_A_PIECE = 1 << 14,
};

struct gather {
    struct around around; /* of dx */
    const struct tensor *indices;
    int64_t count, stripes; /* of indices; of a row */
    const float *dy;
    float *dx;
};

bool axis_gather_back_takes(const struct schedule *schedule UNUSED, const struct step *step) {
    return op_forward_node(step->node).op->id == OP_GATHER;
}

/* The index, counted from the front. */
static int64_t place_of(const struct gather *run, int64_t at) {
    int64_t index = (int64_t)tensor_whole(run->indices, at);
    return index < 0 ? index + run->around.size : index;
}

static int check_indices(const struct gather *run, int64_t least, struct error *err) {
    for (int64_t i = 0; i < run->count; i++) {
        int64_t index = (int64_t)tensor_whole(run->indices, i);
        if (index < least || index >= run->around.size) {
            return error_set(err, ERROR_INVALID, "index %lld is out of range for %lld elements",
                             (long long)index, (long long)run->around.size);
        }
    }
    return 0;
}

static void add_row(float *to, const float *from, int64_t columns) {
#pragma omp simd
    for (int64_t i = 0; i < columns; i++) {
        to[i] += from[i];
    }
}

/* Some columns of one outer index. */
static void add_unit(const struct gather *run, int64_t index) {
    int64_t size = run->around.size, inner = run->around.inner;
    int64_t outer = index / run->stripes, column = index % run->stripes * COLUMNS;
    int64_t columns = MIN(COLUMNS, inner - column);
    float *dx = run->dx + outer * size * inner + column;
    const float *dy = run->dy + outer * run->count * inner + column;
    for (int64_t i = 0; i < run->count; i++) {
        add_row(dx + place_of(run, i) * inner, dy + i * inner, columns);
    }
}

static void add_units(void *context, int64_t first, int64_t last) {
    for (int64_t i = first; i < last; i++) {
        add_unit(context, i);
    }
}

/* (dy, shape of x, indices) -> dx */
static int gather_back_run(const struct call *call, struct error *err) {
    const struct tensor *dx = call->outputs[0], *indices = call->inputs[2];
    struct gather run = {.around =
                             param_around_axis(&dx->shape, node_integer(call->node, "axis", 0)),
                         .indices = indices,
                         .count = shape_count(&indices->shape),
                         .dy = call->inputs[0]->data,
                         .dx = dx->data};
    int64_t least = node_integer(call->node, PARAM_ARE_IDS, 0) ? 0 : -run.around.size;
    if (check_indices(&run, least, err) < 0) {
        return -1;
    }
    run.stripes = (run.around.inner + COLUMNS - 1) / COLUMNS;
    int64_t each = run.count * MIN(run.around.inner, COLUMNS);
    axis_zero(cpu_threads(call), dx);
    threads_run(cpu_threads(call), run.around.outer * run.stripes, ELEMENTS_A_PIECE / each + 1,
                add_units, &run);
    return 0;
}
const struct kernel axis_gather_back = {"axis gather back", gather_back_run};
