// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/run/stages/late.h"

#include "agent/engine/ops/infer/params.h"

#include <assert.h>
#include <string.h>

bool late_has(const struct late_call *call, int index) {
    return index < call->input_count && call->inputs[index];
}

static int expect(const struct late_call *call, int index, enum parcel_kind kind,
                  struct error *err) {
    if (late_has(call, index) && call->inputs[index]->kind == kind) {
        return 0;
    }
    static const char *const names[] = {"a tensor", "a sequence", "an empty optional"};
    static_assert(ARRAY_LEN(names) == PARCEL_KIND_COUNT, "one name per kind");
    const char *seen = late_has(call, index) ? names[call->inputs[index]->kind] : "absent";
    return error_set(err, ERROR_INVALID, "input %d is %s, %s is expected", index, seen,
                     names[kind]);
}

int late_tensor(const struct late_call *call, int index, const struct tensor **ret_tensor,
                struct error *err) {
    if (expect(call, index, PARCEL_TENSOR, err) < 0) {
        return -1;
    }
    *ret_tensor = &call->inputs[index]->tensor;
    return 0;
}

int late_sequence(const struct late_call *call, int index, const struct parcel **ret_items,
                  struct error *err) {
    if (expect(call, index, PARCEL_SEQUENCE, err) < 0) {
        return -1;
    }
    *ret_items = call->inputs[index];
    return 0;
}

int late_number(const struct late_call *call, int index, double fallback, double *ret_number,
                struct error *err) {
    const struct tensor *tensor;
    *ret_number = fallback;
    if (!late_has(call, index)) {
        return 0;
    }
    if (late_tensor(call, index, &tensor, err) < 0) {
        return -1;
    }
    if (shape_count(&tensor->shape) != 1) {
        return error_set(err, ERROR_INVALID, "input %d has %lld elements, 1 is expected", index,
                         (long long)shape_count(&tensor->shape));
    }
    *ret_number = tensor_number(tensor, 0);
    return 0;
}

/* ---- joining and cutting -------------------------------------------------------------------- */

static int mismatch(const struct tensor *first, const struct tensor *other, struct error *err) {
    char text[128], other_text[128];
    shape_format(&first->shape, text);
    shape_format(&other->shape, other_text);
    return error_set(err, ERROR_INVALID, "tensors %s %s and %s %s cannot be joined",
                     tensor_type_name(first->type), text, tensor_type_name(other->type),
                     other_text);
}

static void drop_axis(struct shape *shape, int axis) {
    for (int i = axis; i + 1 < shape->rank; i++) {
        shape->dims[i] = shape->dims[i + 1];
    }
    shape->rank--;
}

static void put_axis(struct shape *shape, int axis, int64_t size) {
    for (int i = shape->rank; i > axis; i--) {
        shape->dims[i] = shape->dims[i - 1];
    }
    shape->dims[axis] = size;
    shape->rank++;
}

/* The shape of all, and whether each fits to the first. */
static int measure(struct parcel *const *tensors, size_t count, int axis, bool is_new,
                   struct shape *ret_shape, struct error *err) {
    const struct tensor *first = &tensors[0]->tensor;
    struct shape shape = first->shape;
    int64_t total = is_new ? (int64_t)count : 0;
    for (size_t i = 0; i < count; i++) {
        const struct tensor *tensor = &tensors[i]->tensor;
        struct shape same = tensor->shape;
        bool fits = tensor->type == first->type && same.rank == shape.rank;
        if (fits && !is_new) {
            total += same.dims[axis];
            same.dims[axis] = shape.dims[axis];
        }
        if (!fits || !shape_equal(&same, &first->shape)) {
            return mismatch(first, tensor, err);
        }
    }
    if (is_new) {
        put_axis(&shape, axis, total);
    } else {
        shape.dims[axis] = total;
    }
    *ret_shape = shape;
    return 0;
}

int late_join(struct parcel *const *tensors, size_t count, int64_t axis, bool is_new,
              struct parcel **ret_item, struct error *err) {
    struct shape shape;
    int at;
    if (!count) {
        return error_set(err, ERROR_INVALID, "a sequence without tensors cannot be joined");
    }
    int rank = tensors[0]->tensor.shape.rank;
    if (is_new && rank == TENSOR_RANK_MAX) {
        return error_set(err, ERROR_UNSUPPORTED, "more than %d dimensions", TENSOR_RANK_MAX);
    }
    if (param_axis(axis, rank + is_new, &at, err) < 0 ||
        measure(tensors, count, at, is_new, &shape, err) < 0 ||
        parcel_new(tensors[0]->tensor.type, &shape, ret_item, err) < 0) {
        return -1;
    }
    struct around whole = param_around_axis(&shape, at);
    size_t size = tensor_type_size(tensors[0]->tensor.type), begin = 0;
    size_t row = (size_t)(whole.size * whole.inner) * size;
    for (size_t i = 0; i < count; i++) {
        const struct tensor *tensor = &tensors[i]->tensor;
        size_t part = (size_t)((is_new ? 1 : tensor->shape.dims[at]) * whole.inner) * size;
        for (int64_t k = 0; k < whole.outer && part; k++) {
            memcpy((char *)(*ret_item)->tensor.data + (size_t)k * row + begin,
                   (const char *)tensor->data + (size_t)k * part, part);
        }
        begin += part;
    }
    return 0;
}

int late_cut(const struct tensor *tensor, const struct late_range *range, struct parcel **ret_item,
             struct error *err) {
    int64_t from = range->from, size = range->size;
    int axis = range->axis;
    struct shape shape = tensor->shape;
    struct around whole = param_around_axis(&shape, axis);
    shape.dims[axis] = size;
    if (range->is_dropped) {
        drop_axis(&shape, axis);
    }
    if (parcel_new(tensor->type, &shape, ret_item, err) < 0) {
        return -1;
    }
    size_t each = (size_t)whole.inner * tensor_type_size(tensor->type);
    for (int64_t k = 0; k < whole.outer && size && each; k++) {
        memcpy((char *)(*ret_item)->tensor.data + (size_t)(k * size) * each,
               (const char *)tensor->data + (size_t)(k * whole.size + from) * each,
               (size_t)size * each);
    }
    return 0;
}
