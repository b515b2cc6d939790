// SPDX-License-Identifier: Apache-2.0
/* The operator Einsum. */
#include "agent/engine/ops/infer/einsum.h"

#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/reference.h"

struct sums {
    const struct einsum *einsum;
    const struct tensor *const *inputs;
    int operand_count;
    void *y;
};

/* The offset of each operand for one index of the output's labels. */
static void find_operands(const struct sums *sums, int64_t index, int64_t *offsets) {
    const struct einsum *einsum = sums->einsum;
    for (int k = 0; k < sums->operand_count; k++) {
        offsets[k] = 0;
    }
    for (int i = einsum->output_rank; i-- > 0;) {
        int64_t at = index % einsum->sizes[i];
        index /= einsum->sizes[i];
        for (int k = 0; k < sums->operand_count; k++) {
            offsets[k] += at * einsum->strides[k][i];
        }
    }
}

/* Advances to the next index of the labels that are summed over; false after the last. */
static bool move_on(const struct sums *sums, int64_t *index, int64_t *offsets) {
    const struct einsum *einsum = sums->einsum;
    for (int i = einsum->label_count; i-- > einsum->output_rank;) {
        bool is_through = ++index[i] == einsum->sizes[i];
        int64_t by = is_through ? 1 - einsum->sizes[i] : 1;
        for (int k = 0; k < sums->operand_count; k++) {
            offsets[k] += by * einsum->strides[k][i];
        }
        if (!is_through) {
            return true;
        }
        index[i] = 0;
    }
    return false;
}

static bool is_empty(const struct einsum *einsum) {
    bool is = false;
    for (int i = einsum->output_rank; i < einsum->label_count; i++) {
        is |= einsum->sizes[i] == 0;
    }
    return is;
}

#define SUM(name, type, wide)                                                                      \
    static void name(void *context, int64_t first, int64_t last) {                                 \
        const struct sums *sums = context;                                                         \
        int64_t offsets[EINSUM_OPERANDS_MAX], index[EINSUM_LABELS_MAX] = {0};                      \
        bool has_none = is_empty(sums->einsum);                                                    \
        for (int64_t n = first; n < last; n++) {                                                   \
            wide sum = 0;                                                                          \
            find_operands(sums, n, offsets);                                                       \
            do {                                                                                   \
                wide product = 1;                                                                  \
                for (int k = 0; k < sums->operand_count && !has_none; k++) {                       \
                    product *= (wide)((const type *)sums->inputs[k]->data)[offsets[k]];            \
                }                                                                                  \
                sum += has_none ? 0 : product;                                                     \
            } while (!has_none && move_on(sums, index, offsets));                                  \
            ((type *)sums->y)[n] = (type)sum;                                                      \
        }                                                                                          \
    }
SUM(sum_float, float, double)
SUM(sum_double, double, double)
SUM(sum_int32, int32_t, uint32_t)
SUM(sum_int64, int64_t, uint64_t)

static int einsum_run(const struct call *call, struct error *err) {
    const struct shape *shapes[EINSUM_OPERANDS_MAX];
    enum tensor_type type = call->outputs[0]->type;
    struct einsum einsum;
    for (int i = 0; i < MIN(call->input_count, EINSUM_OPERANDS_MAX); i++) {
        shapes[i] = &call->inputs[i]->shape;
    }
    if (einsum_params(call->node, shapes, &einsum, err) < 0) {
        return -1;
    }
    struct sums sums = {&einsum, call->inputs, call->input_count, call->outputs[0]->data};
    threads_run(cpu_threads(call), shape_count(&call->outputs[0]->shape), 64,
                type == TENSOR_FLOAT64 ? sum_double
                : type == TENSOR_INT32 ? sum_int32
                : type == TENSOR_INT64 ? sum_int64
                                       : sum_float,
                &sums);
    return 0;
}
const struct kernel reference_einsum = {"reference einsum", einsum_run};
