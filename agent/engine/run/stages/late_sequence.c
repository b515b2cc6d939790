// SPDX-License-Identifier: Apache-2.0
/* Sequences and optionals. An optional that has something is that thing. */
#include "agent/engine/run/stages/late.h"

#include "agent/engine/ops/infer/params.h"

#include <stdlib.h>
#include <string.h>

enum { SEQUENCE_MAX = 1 << 20 };

int late_identity(const struct late_call *call, struct error *err UNUSED) {
    call->outputs[0] = parcel_share(call->inputs[0]);
    return 0;
}

int late_optional(const struct late_call *call, struct error *err UNUSED) {
    call->outputs[0] = late_has(call, 0) ? parcel_share(call->inputs[0]) : parcel_of_nothing();
    return 0;
}

int late_optional_get(const struct late_call *call, struct error *err) {
    if (call->inputs[0]->kind == PARCEL_NOTHING) {
        return error_set(err, ERROR_INVALID, "the optional has no element");
    }
    return late_identity(call, err);
}

int late_optional_has(const struct late_call *call, struct error *err UNUSED) {
    bool has = late_has(call, 0) && call->inputs[0]->kind != PARCEL_NOTHING;
    call->outputs[0] = parcel_of_bool(has);
    return 0;
}

/* ---- sequences ------------------------------------------------------------------------------ */

int late_sequence_empty(const struct late_call *call, struct error *err UNUSED) {
    call->outputs[0] = parcel_of_items(NULL, 0);
    return 0;
}

int late_sequence_construct(const struct late_call *call, struct error *err) {
    const struct tensor *tensor, *first;
    for (int i = 0; i < call->input_count; i++) {
        if (late_tensor(call, i, &tensor, err) < 0) {
            return -1;
        }
        first = i ? first : tensor;
        if (tensor->type != first->type) {
            return error_set(err, ERROR_INVALID, "input %d has type %s, expected %s as the first",
                             i, tensor_type_name(tensor->type), tensor_type_name(first->type));
        }
    }
    call->outputs[0] = parcel_of_items(call->inputs, (size_t)call->input_count);
    return 0;
}

int late_sequence_length(const struct late_call *call, struct error *err) {
    const struct parcel *sequence;
    if (late_sequence(call, 0, &sequence, err) < 0) {
        return -1;
    }
    call->outputs[0] = parcel_of_integer((int64_t)sequence->count);
    return 0;
}

/* A position: -count to count - 1; with `more` 1, up to count. */
static int position(const struct late_call *call, int64_t fallback, int64_t count, int more,
                    int64_t *ret_at, struct error *err) {
    const struct tensor *tensor = NULL;
    int64_t at = fallback;
    int index = 1 + more; /* of SequenceInsert */
    if (late_has(call, index)) {
        if (late_tensor(call, index, &tensor, err) < 0) {
            return -1;
        }
        bool is_one = shape_count(&tensor->shape) == 1 &&
                      (tensor->type == TENSOR_INT64 || tensor->type == TENSOR_INT32);
        if (!is_one) {
            return error_set(err, ERROR_INVALID, "input %d must be one integer", index);
        }
        at = (int64_t)tensor_whole(tensor, 0);
    }
    if (at < -count || at >= count + more) {
        return error_set(err, ERROR_INVALID, "position %lld is outside a sequence of %lld",
                         (long long)at, (long long)count);
    }
    *ret_at = at < 0 ? at + count : at;
    return 0;
}

int late_sequence_at(const struct late_call *call, struct error *err) {
    const struct parcel *sequence;
    int64_t at;
    if (late_sequence(call, 0, &sequence, err) < 0 ||
        position(call, 0, (int64_t)sequence->count, 0, &at, err) < 0) {
        return -1;
    }
    call->outputs[0] = parcel_share(sequence->items[at]);
    return 0;
}

int late_sequence_erase(const struct late_call *call, struct error *err) {
    const struct parcel *sequence;
    int64_t at;
    if (late_sequence(call, 0, &sequence, err) < 0 ||
        position(call, -1, (int64_t)sequence->count, 0, &at, err) < 0) {
        return -1;
    }
    struct parcel **items = x_calloc(sequence->count, sizeof *items);
    size_t count = 0;
    for (size_t i = 0; i < sequence->count; i++) {
        if (i != (size_t)at) {
            items[count++] = sequence->items[i];
        }
    }
    call->outputs[0] = parcel_of_items(items, count);
    free(items);
    return 0;
}

int late_sequence_insert(const struct late_call *call, struct error *err) {
    const struct parcel *sequence;
    const struct tensor *tensor;
    int64_t at;
    if (late_sequence(call, 0, &sequence, err) < 0 || late_tensor(call, 1, &tensor, err) < 0 ||
        position(call, (int64_t)sequence->count, (int64_t)sequence->count, 1, &at, err) < 0) {
        return -1;
    }
    if (sequence->count && sequence->items[0]->tensor.type != tensor->type) {
        return error_set(err, ERROR_INVALID, "a tensor of %s, the sequence is of %s",
                         tensor_type_name(tensor->type),
                         tensor_type_name(sequence->items[0]->tensor.type));
    }
    struct parcel **items = x_calloc(sequence->count + 1, sizeof *items);
    for (size_t i = 0; i <= sequence->count; i++) {
        items[i] = i == (size_t)at ? call->inputs[1] : sequence->items[i - (i > (size_t)at)];
    }
    call->outputs[0] = parcel_of_items(items, sequence->count + 1);
    free(items);
    return 0;
}

int late_concat_from_sequence(const struct late_call *call, struct error *err) {
    const struct parcel *sequence;
    return late_sequence(call, 0, &sequence, err) < 0
               ? -1
               : late_join(sequence->items, sequence->count, node_integer(call->node, "axis", 0),
                           node_integer(call->node, "new_axis", 0) != 0, &call->outputs[0], err);
}

/* ---- SplitToSequence ------------------------------------------------------------------------ */

/* Without `split` in pieces of 1; a number: pieces of that size, the last one may be smaller; a
 * list: these sizes. */
struct pieces {
    const struct tensor *list; /* NULL: all of `size` */
    int64_t size, count;
    bool is_dropped; /* pieces of 1 without the axis */
};

static int check_sum(const struct tensor *split, int64_t length, struct error *err) {
    int64_t left = length;
    for (int64_t i = 0; i < shape_count(&split->shape); i++) {
        int64_t size = (int64_t)tensor_whole(split, i);
        if (size < 0 || size > left) {
            return error_set(err, ERROR_INVALID, "a piece of %lld where %lld are left",
                             (long long)size, (long long)left);
        }
        left -= size;
    }
    return left == 0 ? 0
                     : error_set(err, ERROR_INVALID, "split adds up to %lld, the axis has %lld",
                                 (long long)(length - left), (long long)length);
}

static int read_pieces(const struct late_call *call, int64_t length, struct pieces *pieces,
                       struct error *err) {
    const struct tensor *split;
    pieces->size = 1;
    pieces->count = length;
    if (!late_has(call, 1)) {
        pieces->is_dropped = node_integer(call->node, "keepdims", 1) == 0;
        return 0;
    }
    if (late_tensor(call, 1, &split, err) < 0) {
        return -1;
    }
    if ((split->type != TENSOR_INT64 && split->type != TENSOR_INT32) || split->shape.rank > 1) {
        return error_set(err, ERROR_INVALID, "input 1 must be an integer or a list of them");
    }
    if (split->shape.rank == 0) {
        pieces->size = (int64_t)tensor_whole(split, 0);
        if (pieces->size < 1) {
            return error_set(err, ERROR_INVALID, "split is %lld, at least 1 is expected",
                             (long long)pieces->size);
        }
        pieces->count = length / pieces->size + (length % pieces->size != 0);
        return 0;
    }
    pieces->list = split;
    pieces->count = shape_count(&split->shape);
    return check_sum(split, length, err);
}

int late_split_to_sequence(const struct late_call *call, struct error *err) {
    const struct tensor *tensor;
    struct pieces pieces = {0};
    int axis, result = 0;
    if (late_tensor(call, 0, &tensor, err) < 0 ||
        param_axis(node_integer(call->node, "axis", 0), tensor->shape.rank, &axis, err) < 0 ||
        read_pieces(call, tensor->shape.dims[axis], &pieces, err) < 0) {
        return -1;
    }
    if (pieces.count > SEQUENCE_MAX) {
        return error_set(err, ERROR_UNSUPPORTED, "a sequence of %lld tensors, at most %d",
                         (long long)pieces.count, SEQUENCE_MAX);
    }
    int64_t length = tensor->shape.dims[axis], from = 0;
    struct parcel **items = x_calloc((size_t)pieces.count + 1, sizeof *items);
    for (int64_t i = 0; result == 0 && i < pieces.count; i++) {
        int64_t size =
            pieces.list ? (int64_t)tensor_whole(pieces.list, i) : MIN(pieces.size, length - from);
        const struct late_range range = {axis, from, size, pieces.is_dropped};
        result = late_cut(tensor, &range, &items[i], err);
        from += size;
    }
    if (result == 0) {
        call->outputs[0] = parcel_of_items(items, (size_t)pieces.count);
    }
    parcel_release_all(items, (size_t)pieces.count);
    free(items);
    return result;
}
