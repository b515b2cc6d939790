// SPDX-License-Identifier: Apache-2.0
/* Cast and Where. */
#include "agent/engine/device/cpu/reference/reference.h"
#include "agent/engine/device/cpu/reference/walk.h"
#include "agent/engine/ops/infer/elementwise.h"

#include <math.h>
#include <string.h>

static int cast_run(const struct call *call, struct error *err UNUSED) {
    const struct tensor *x = call->inputs[0];
    struct tensor *y = call->outputs[0];
    int64_t count = shape_count(&x->shape);
    bool is_whole = !tensor_type_is_real(x->type) && !tensor_type_is_real(y->type);
    for (int64_t i = 0; i < count; i++) {
        if (is_whole) {
            tensor_put_whole(y, i, tensor_whole(x, i));
        } else {
            tensor_put_number(y, i, tensor_number(x, i));
        }
    }
    return 0;
}
const struct kernel reference_cast = {"reference cast", cast_run};

struct where {
    size_t size;
    const uint8_t *condition;
    const char *yes, *no;
    char *to;
};

static void where_row(void *context, const int64_t *offsets, const int64_t *steps, int64_t count) {
    const struct where *where = context;
    int64_t size = (int64_t)where->size;
    for (int64_t i = 0; i < count; i++) {
        const char *from = where->condition[offsets[0] + i * steps[0]]
                               ? where->yes + (offsets[1] + i * steps[1]) * size
                               : where->no + (offsets[2] + i * steps[2]) * size;
        memcpy(where->to + (offsets[3] + i) * size, from, where->size);
    }
}

static int where_run(const struct call *call, struct error *err UNUSED) {
    struct tensor *y = call->outputs[0];
    struct walk walk = {.shape = y->shape, .operand_count = 4};
    struct where where = {tensor_type_size(y->type), call->inputs[0]->data, call->inputs[1]->data,
                          call->inputs[2]->data, y->data};
    for (int i = 0; i < 3; i++) {
        elementwise_broadcast_strides(&call->inputs[i]->shape, &y->shape, walk.strides[i]);
    }
    walk_plain_strides(&y->shape, walk.strides[3]);
    walk_each(&walk, where_row, &where);
    return 0;
}
const struct kernel reference_where = {"reference where", where_run};
