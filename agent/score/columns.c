// SPDX-License-Identifier: Apache-2.0
#include "agent/score/columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_BYTES_MAX = 64 << 20 };

struct columns {
    const json_t *names; /* the spec's */
    size_t count;
    double *values;
};

int columns_new(const json_t *spec, const char *name, enum tensor_type type,
                const struct shape *input, struct columns **ret_columns, struct error *err) {
    const json_t *names = tree_get(spec, "scorer.onnx.columns");
    size_t count = json_array_size(names);
    char text[128];
    shape_format(input, text);
    if (!tensor_type_is_real(type) || tensor_type_size(type) < 4 || input->rank != 2) {
        return error_set(err, ERROR_INVALID,
                         "spec.scorer.onnx.path: the network's input %.64s is %s %s, for a table "
                         "float32 or float64 [n, columns] is expected",
                         name, tensor_type_name(type), text);
    }
    if (count == 0 || (input->dims[1] >= 0 && input->dims[1] != (int64_t)count)) {
        return error_set(err, ERROR_INVALID,
                         "spec.scorer.onnx.columns: names %zu columns, the network's input %.64s "
                         "is %s",
                         count, name, text);
    }
    struct columns *columns = x_calloc(1, sizeof *columns);
    *columns = (struct columns){names, count, x_calloc(count, sizeof *columns->values)};
    *ret_columns = columns;
    return 0;
}

void columns_free(struct columns *columns) {
    if (columns) {
        free(columns->values);
        free(columns);
    }
}

/* Blanks around it aside. "": NaN. */
static bool read_text(const char *text, double *ret_number) {
    char *end;
    const char *at = text + strspn(text, " \t");
    if (!*at) {
        *ret_number = NAN;
        return true;
    }
    if (strpbrk(at, "xXpP(")) { /* C's other ways of writing one */
        return false;
    }
    *ret_number = strtod(at, &end);
    return end != at && end[strspn(end, " \t")] == 0;
}

static bool read_value(const json_t *value, double *ret_number) {
    if (json_is_string(value)) {
        return read_text(json_string_value(value), ret_number);
    }
    *ret_number = json_is_null(value)      ? NAN
                  : json_is_boolean(value) ? (double)json_boolean_value(value)
                                           : json_number_value(value);
    return json_is_null(value) || json_is_boolean(value) || json_is_number(value);
}

int columns_read(struct columns *columns, const char *row, size_t size, struct npy_slice *ret_slice,
                 struct error *err) {
    AUTO(tree_freep) json_t *json = NULL;
    if (tree_parse(row, size, ROW_BYTES_MAX, &json, err) < 0) {
        return -1;
    }
    if (!json_is_object(json)) {
        return error_set(err, ERROR_INVALID, "it is no object, so its columns have no names");
    }
    for (size_t i = 0; i < columns->count; i++) {
        const char *name = json_string_value(json_array_get(columns->names, i));
        const json_t *value = json_object_get(json, name);
        if (!value) {
            return error_set(err, ERROR_INVALID, "it has no column \"%.64s\"", name);
        }
        if (!read_value(value, &columns->values[i])) {
            const char *text = json_string_value(value);
            return error_set(err, ERROR_INVALID,
                             "column \"%.64s\" is %s%.64s%s, a number is expected", name,
                             text ? "\"" : "", text ? text : "no text", text ? "\"" : "");
        }
    }
    *ret_slice = (struct npy_slice){.type = NPY_FLOAT64,
                                    .rank = 1,
                                    .dims = {(int64_t)columns->count},
                                    .values = columns->values};
    return 0;
}
