// SPDX-License-Identifier: Apache-2.0
#include "agent/score/post/row_text.h"

#include "lib/number/decimal.h"
#include "lib/text/jsontext.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PIECE = 256, NUMBER_BYTES = 40 };

int row_text_add(struct row_text *row, const char *json, struct error *err) {
    return buffer_append(&row->text, json, strlen(json), err);
}

int row_text_string(struct row_text *row, const char *value, struct error *err) {
    return row_text_add(row, "\"", err) < 0 ||
                   jsontext_escape(&row->text, value, strlen(value), err) < 0
               ? -1
               : row_text_add(row, "\"", err);
}

int row_text_begin(struct row_text *row, const char *name, struct error *err) {
    buffer_init(&row->text, ROW_TEXT_BYTES_MAX);
    return row_text_add(row, "{\"file\":", err) < 0 ? -1 : row_text_string(row, name, err);
}

void row_text_release(struct row_text *row) {
    buffer_release(&row->text);
}

int row_text_key(struct row_text *row, const char *key, struct error *err) {
    return row_text_add(row, ",", err) < 0 || row_text_string(row, key, err) < 0
               ? -1
               : row_text_add(row, ":", err);
}

int row_text_end(struct row_text *row, struct post_result *result, struct error *err) {
    if (row_text_add(row, "}", err) < 0) {
        return -1;
    }
    result->json = buffer_take(&row->text, &result->json_size);
    return 0;
}

/* ---- numbers -------------------------------------------------------------------------------- */

static size_t print_float(float value, char *ret_text) {
    if (isfinite(value)) {
        return decimal_from_float(value, ret_text);
    }
    memcpy(ret_text, "null", 4);
    return 4;
}

static size_t print_double(double value, char *ret_text) {
    return isfinite(value) ? decimal_from_double(value, ret_text)
                           : print_float((float)value, ret_text);
}

static size_t print_element(const struct tensor *tensor, int64_t index, char *ret_text) {
    switch (tensor->type) {
    case TENSOR_FLOAT32:
        return print_float(((const float *)tensor->data)[index], ret_text);
    case TENSOR_FLOAT16:
    case TENSOR_BFLOAT16:
        return print_float((float)tensor_number(tensor, index), ret_text);
    case TENSOR_FLOAT64:
        return print_double(tensor_number(tensor, index), ret_text);
    case TENSOR_BOOL:
        return (size_t)snprintf(ret_text, NUMBER_BYTES, "%s",
                                tensor_whole(tensor, index) ? "true" : "false");
    case TENSOR_UINT64:
        return (size_t)snprintf(ret_text, NUMBER_BYTES, "%llu",
                                (unsigned long long)tensor_whole(tensor, index));
    default:
        return (size_t)snprintf(ret_text, NUMBER_BYTES, "%lld",
                                (long long)tensor_whole(tensor, index));
    }
}

/* A list of `count` elements from `first`. */
static int add_list(struct row_text *row, const struct tensor *tensor, int64_t first, int64_t count,
                    struct error *err) {
    NOT_ZEROED char text[PIECE * NUMBER_BYTES];
    size_t used = 0;
    text[used++] = '[';
    for (int64_t i = 0; i < count; i++) {
        if (i > 0) {
            text[used++] = ',';
        }
        used += print_element(tensor, first + i, text + used);
        if (used + NUMBER_BYTES + 2 > sizeof text) {
            if (buffer_append(&row->text, text, used, err) < 0) {
                return -1;
            }
            used = 0;
        }
    }
    text[used++] = ']';
    return buffer_append(&row->text, text, used, err);
}

int row_text_floats(struct row_text *row, const float *values, int64_t count, struct error *err) {
    const struct tensor tensor = {TENSOR_FLOAT32, {1, {count}}, (void *)(uintptr_t)values, false};
    return add_list(row, &tensor, 0, count, err);
}

/* The lists of one axis; the elements of each are `step` behind those of the one before. */
static int add_axis(struct row_text *row, const struct tensor *tensor, int64_t first,
                    const struct shape *shape, struct error *err) {
    struct shape inner = {.rank = shape->rank - 1};
    memcpy(inner.dims, shape->dims + 1, (size_t)inner.rank * sizeof *inner.dims);
    int64_t step = shape_count(&inner);
    for (int64_t i = 0; i < shape->dims[0]; i++) {
        if (row_text_add(row, i ? "," : "[", err) < 0 ||
            row_text_values(row, tensor, first + i * step, &inner, err) < 0) {
            return -1;
        }
    }
    return row_text_add(row, shape->dims[0] ? "]" : "[]", err);
}

int row_text_values(struct row_text *row, const struct tensor *tensor, int64_t first,
                    const struct shape *shape, struct error *err) {
    char text[NUMBER_BYTES];
    if (shape->rank > 1) {
        return add_axis(row, tensor, first, shape, err);
    }
    return shape->rank == 1
               ? add_list(row, tensor, first, shape->dims[0], err)
               : buffer_append(&row->text, text, print_element(tensor, first, text), err);
}

int row_text_check_keys(const struct post_outputs *outputs, struct error *err) {
    for (size_t i = 0; i < outputs->count; i++) {
        if (strcmp(outputs->names[i], "file") == 0) {
            return error_set(err, ERROR_INVALID,
                             "spec.scorer.onnx.outputs: results hold the network's outputs under "
                             "their names, but \"file\" is the name of the item: name others");
        }
    }
    return 0;
}
