// SPDX-License-Identifier: Apache-2.0
/* ArgMax, ArgMin and TopK of float32. NaN is the greatest for TopK, and is picked first by both
 * ArgMax and ArgMin; of equal numbers the first is picked, or for ArgMax the last if asked for. */
#include "agent/engine/device/cpu/axis/axis.h"
#include "agent/engine/device/cpu/axis/stripe.h"
#include "agent/engine/device/cpu/fast/parallel.h"
#include "agent/engine/ops/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- ArgMax ---------------------------------------------------------------------------------- */

struct arg_max {
    struct around around;
    const float *x;
    int64_t *y;
    float sign; /* -1: ArgMin */
    bool takes_last;
};

/* The index of the best element of a row in memory. */
static int64_t best_of_row(const struct arg_max *run, const float *x) {
    float best = x[0] * run->sign;
    int64_t at = 0;
    for (int64_t k = 1; k < run->around.size; k++) {
        float value = x[k] * run->sign;
        if (run->takes_last ? !(value < best) && !(isnan(best) && !isnan(value))
                            : value > best || (isnan(value) && !isnan(best))) {
            best = value;
            at = k;
        }
    }
    return at;
}

/* Without branches, so that the compiler makes vectors of it. */
static void take_better(const struct arg_max *run, const float *x, int32_t row, int columns,
                        float *best, int32_t *at) {
    float sign = run->sign;
    if (run->takes_last) {
#pragma omp simd
        for (int i = 0; i < columns; i++) {
            float value = x[i] * sign;
            bool is_better = (value >= best[i]) | (value != value);
            best[i] = is_better ? value : best[i];
            at[i] = is_better ? row : at[i];
        }
        return;
    }
#pragma omp simd
    for (int i = 0; i < columns; i++) {
        float value = x[i] * sign;
        bool is_better = (value > best[i]) | ((value != value) & (best[i] == best[i]));
        best[i] = is_better ? value : best[i];
        at[i] = is_better ? row : at[i];
    }
}

static void arg_max_stripe(const struct arg_max *run, int index) {
    struct axis_stripe stripe = axis_stripe_at(&run->around, index);
    int64_t size = run->around.size, inner = run->around.inner;
    const float *x = run->x + stripe.first;
    int64_t *y = run->y + stripe.first - stripe.outer * (size - 1) * inner;
    float best[AXIS_COLUMNS_MAX];
    int32_t at[AXIS_COLUMNS_MAX] = {0};
    for (int i = 0; i < stripe.columns; i++) {
        best[i] = x[i] * run->sign;
    }
    for (int32_t k = 1; k < size; k++) {
        take_better(run, x + k * inner, k, stripe.columns, best, at);
    }
    for (int i = 0; i < stripe.columns; i++) {
        y[i] = at[i];
    }
}

/* (parallel_for would compare numbers below 1.2e-38 as 0.) */
static void arg_max_stripes(void *context, int64_t first, int64_t last) {
    for (int64_t i = first; i < last; i++) {
        arg_max_stripe(context, (int)i);
    }
}

static void arg_max_rows(void *context, int64_t first, int64_t last) {
    const struct arg_max *run = context;
    for (int64_t i = first; i < last; i++) {
        run->y[i] = best_of_row(run, run->x + i * run->around.size);
    }
}

static int arg_max_run(const struct call *call, struct error *err UNUSED) {
    enum { ELEMENTS_A_PIECE = 1 << 14 };
    const struct tensor *x = call->inputs[0];
    struct arg_max run = {.around =
                              param_around_axis(&x->shape, node_integer(call->node, "axis", 0)),
                          .x = x->data,
                          .y = call->outputs[0]->data,
                          .sign = call->node->op->id == OP_ARG_MAX ? 1 : -1,
                          .takes_last = node_integer(call->node, "select_last_index", 0)};
    if (run.around.inner == 1) {
        threads_run(cpu_threads(call), run.around.outer,
                    ELEMENTS_A_PIECE / MAX(run.around.size, 1) + 1, arg_max_rows, &run);
    } else {
        threads_run(cpu_threads(call), axis_stripe_count(&run.around), 1, arg_max_stripes, &run);
    }
    return 0;
}
const struct kernel axis_arg_max = {"axis ArgMax", arg_max_run};

/* ---- TopK ------------------------------------------------------------------------------------ */

struct top_k {
    struct around around;
    const float *x;
    float *values; /* NULL: not wanted, as indices */
    int64_t *indices;
    int64_t k;
    bool is_largest;
    uint64_t *kept; /* [lanes, k] */
};

/* What comes first in the result is least: the number's place in the order of all float32, then
 * its index. */
static uint64_t rank_of(float x, int64_t index, bool is_largest) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = bits == 0x80000000U ? 0 : bits; /* of -0 and 0 none is less */
    bits = isnan(x) ? UINT32_MAX : bits & 0x80000000U ? ~bits : bits | 0x80000000U;
    return (uint64_t)(is_largest ? ~bits : bits) << 32 | (uint64_t)index;
}

static int by_rank(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* `kept` is a heap whose greatest element is the first; the element at `at` may be too small. */
static void sift_down(uint64_t *kept, int64_t count, int64_t at) {
    uint64_t moved = kept[at];
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child >= count) {
            break;
        }
        child += child + 1 < count && kept[child + 1] > kept[child];
        if (kept[child] <= moved) {
            break;
        }
        kept[at] = kept[child];
        at = child;
    }
    kept[at] = moved;
}

/* The k least ranks of a row, in order. */
static void keep_least(const struct top_k *run, const float *x, uint64_t *kept) {
    int64_t k = run->k, step = run->around.inner;
    for (int64_t i = 0; i < k; i++) {
        kept[i] = rank_of(x[i * step], i, run->is_largest);
    }
    for (int64_t i = k / 2 - 1; i >= 0; i--) {
        sift_down(kept, k, i);
    }
    for (int64_t i = k; i < run->around.size; i++) {
        uint64_t rank = rank_of(x[i * step], i, run->is_largest);
        if (rank < kept[0]) {
            kept[0] = rank;
            sift_down(kept, k, 0);
        }
    }
    qsort(kept, (size_t)k, sizeof *kept, by_rank);
}

static void top_k_row(void *context, int index, int lane) {
    const struct top_k *run = context;
    int64_t inner = run->around.inner, outer = index / inner, column = index % inner;
    const float *x = run->x + outer * run->around.size * inner + column;
    uint64_t *kept = run->kept + lane * run->k;
    keep_least(run, x, kept);
    for (int64_t i = 0; i < run->k; i++) {
        int64_t from = (int64_t)(kept[i] & UINT32_MAX), to = (outer * run->k + i) * inner + column;
        if (run->values) {
            run->values[to] = x[from * inner];
        }
        if (run->indices) {
            run->indices[to] = from;
        }
    }
}

static int top_k_run(const struct call *call, struct error *err) {
    const struct tensor *x = call->inputs[0];
    const struct tensor *values = call->outputs[0];
    const struct tensor *indices = call->output_count > 1 ? call->outputs[1] : NULL;
    int64_t axis = node_integer(call->node, "axis", -1);
    axis = axis < 0 ? axis + x->shape.rank : axis;
    struct top_k run = {.around = param_around_axis(&x->shape, axis),
                        .x = x->data,
                        .values = values ? values->data : NULL,
                        .indices = indices ? indices->data : NULL,
                        .k = (values ? values : indices)->shape.dims[axis],
                        .is_largest = node_integer(call->node, "largest", 1)};
    struct tensor kept;
    const struct shape shape = {2, {threads_count(cpu_threads(call)), run.k}};
    if (tensor_init(&kept, TENSOR_INT64, &shape, err) < 0) {
        return -1;
    }
    run.kept = kept.data;
    parallel_for(cpu_threads(call), (int)(run.around.outer * run.around.inner), top_k_row, &run);
    tensor_release(&kept);
    return 0;
}
const struct kernel axis_top_k = {"axis TopK", top_k_run};
