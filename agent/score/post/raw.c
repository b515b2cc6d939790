// SPDX-License-Identifier: Apache-2.0
/* Raw: the outputs that the spec names, else all, of any type and shape, as nested lists:
 * {"file": name, "OUTPUT": [[1.5, ...], ...], ...}. The axis of the items is taken off; without
 * one, the whole output belongs to the item, if the network takes one item at a time. */
#include "agent/score/post/post_kind.h"
#include "agent/score/post/row_text.h"

#include <stdlib.h>
#include <string.h>

struct post_state {
    char unused; /* the type has no fields of its own */
};

static int raw_open(const json_t *spec UNUSED, struct post_state **ret_state,
                    struct error *err UNUSED) {
    *ret_state = x_calloc(1, sizeof **ret_state);
    return 0;
}

static void raw_free(struct post_state *state) {
    free(state);
}

static bool has_items(const struct tensor *output, int64_t items) {
    return output->shape.rank > 0 && output->shape.dims[0] == items;
}

static int raw_take(struct post_state *state UNUSED, const struct post_outputs *outputs,
                    struct error *err) {
    for (size_t i = 0; i < outputs->count; i++) {
        char text[128];
        const struct tensor *output = outputs->tensors[i];
        shape_format(&output->shape, text);
        if (outputs->items > 1 && !has_items(output, outputs->items)) {
            return error_set(err, ERROR_INVALID,
                             "spec.scorer.onnx.outputs: the network's output \"%.64s\" is %s %s "
                             "for %lld items, the first axis must be that of the items: name "
                             "others, or set spec.miniBatchSize: 1 if the network can take one "
                             "item at a time",
                             outputs->names[i], tensor_type_name(output->type), text,
                             (long long)outputs->items);
        }
    }
    return row_text_check_keys(outputs, err);
}

static int add_output(const struct post_outputs *outputs, size_t which, int64_t index,
                      struct row_text *row, struct error *err) {
    const struct tensor *output = outputs->tensors[which];
    struct shape shape = output->shape;
    int64_t count = shape_count(&shape);
    if (has_items(output, outputs->items)) {
        count /= outputs->items;
        shape.rank--;
        memmove(shape.dims, shape.dims + 1, (size_t)shape.rank * sizeof *shape.dims);
    }
    return row_text_key(row, outputs->names[which], err) < 0
               ? -1
               : row_text_values(row, output, index * count, &shape, err);
}

static int raw_result(const struct post_state *state UNUSED, const struct post_outputs *outputs,
                      int64_t index, const struct post_item *item, struct post_result *ret_result,
                      struct error *err) {
    AUTO(row_text_release) struct row_text row;
    int result = row_text_begin(&row, item->name, err);
    for (size_t i = 0; i < outputs->count && result == 0; i++) {
        result = add_output(outputs, i, index, &row, err);
        if (result < 0) {
            return error_context(err, "output \"%.64s\"", outputs->names[i]);
        }
    }
    return result < 0 ? -1 : row_text_end(&row, ret_result, err);
}

const struct post_kind post_raw = {
    .name = "Raw",
    .needs = "any",
    .takes_all = true,
    .open = raw_open,
    .free = raw_free,
    .take = raw_take,
    .result = raw_result,
};
