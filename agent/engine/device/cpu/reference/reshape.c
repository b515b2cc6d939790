// SPDX-License-Identifier: Apache-2.0
/* Operators that copy or describe a shape: Reshape, Shape, Size, ConstantOfShape, Range. */
#include "agent/engine/ops/infer/reshape.h"

#include "agent/engine/device/cpu/reference/reference.h"

#include <string.h>

/* Operators that are views. The kernel is needed for folding, and for outputs that need their own
 * bytes. */
static int copy_run(const struct call *call, struct error *err UNUSED) {
    const struct tensor *x = call->inputs[0], *y = call->outputs[0];
    size_t count = (size_t)shape_count(&x->shape);
    if (count && y) {
        memcpy(y->data, x->data, count * tensor_type_size(x->type));
    }
    if (count && call->output_count > 1 && call->outputs[1]) {
        memset(call->outputs[1]->data, 1, count); /* Dropout's mask: nothing is dropped */
    }
    return 0;
}
const struct kernel reference_copy = {"reference copy", copy_run};

static int shape_run(const struct call *call, struct error *err UNUSED) {
    const struct shape *x = &call->inputs[0]->shape;
    int64_t *y = call->outputs[0]->data;
    int start, end;
    reshape_shape_range(call->node, x->rank, &start, &end);
    for (int i = start; i < end; i++) {
        *y++ = x->dims[i];
    }
    return 0;
}
const struct kernel reference_shape = {"reference shape", shape_run};

static int size_run(const struct call *call, struct error *err UNUSED) {
    *(int64_t *)call->outputs[0]->data = shape_count(&call->inputs[0]->shape);
    return 0;
}
const struct kernel reference_size = {"reference size", size_run};

static int constant_of_shape_run(const struct call *call, struct error *err UNUSED) {
    const struct attribute *value = node_attribute(call->node, "value");
    const struct tensor *y = call->outputs[0];
    int64_t count = shape_count(&y->shape);
    size_t size = tensor_type_size(y->type);
    int64_t zero = 0;
    for (int64_t i = 0; i < count; i++) {
        memcpy((char *)y->data + (size_t)i * size, value ? value->tensor.data : &zero, size);
    }
    return 0;
}
const struct kernel reference_constant_of_shape = {"reference constant_of_shape",
                                                   constant_of_shape_run};

/* y[i] = start + i * step; integers wrap around. */
static int range_run(const struct call *call, struct error *err UNUSED) {
    const void *start = call->inputs[0]->data, *step = call->inputs[2]->data;
    const struct tensor *y = call->outputs[0];
    for (int64_t i = 0; i < y->shape.dims[0]; i++) {
        switch (y->type) {
        case TENSOR_INT64:
            ((uint64_t *)y->data)[i] =
                *(const uint64_t *)start + (uint64_t)i * *(const uint64_t *)step;
            break;
        case TENSOR_INT32:
            ((uint32_t *)y->data)[i] =
                *(const uint32_t *)start + (uint32_t)i * *(const uint32_t *)step;
            break;
        case TENSOR_FLOAT64:
            ((double *)y->data)[i] = *(const double *)start + (double)i * *(const double *)step;
            break;
        default:
            ((float *)y->data)[i] = *(const float *)start + (float)i * *(const float *)step;
        }
    }
    return 0;
}
const struct kernel reference_range = {"reference range", range_run};
