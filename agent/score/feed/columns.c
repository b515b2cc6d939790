// SPDX-License-Identifier: Apache-2.0
#include "agent/score/feed/columns.h"

#include "agent/engine/session.h"
#include "agent/score/feed/flat_row.h"
#include "agent/score/feed/row_value.h"
#include "agent/score/feed/slices.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct columns {
    const struct feed_input *inputs;
    size_t input_count, count; /* count: values of all inputs */
    const char **names;        /* borrowed, of each column */
    size_t name_count;
    bool has_lists; /* each input takes one column, of arrays */
    struct columns_options options;
    struct flat_row *flat; /* NULL: a row is always read as a tree */
    uint64_t *values;      /* eight bytes per column; they hold packed values of the input's type */
    struct npy_slice *slices; /* one per input */
};

/* The npy.h type of a network type that columns can be converted to. */
static bool find_type(enum tensor_type type, enum npy_type *ret_type) {
    static const struct {
        enum tensor_type type;
        enum npy_type as;
    } types[] = {{TENSOR_FLOAT32, NPY_FLOAT64},
                 {TENSOR_FLOAT64, NPY_FLOAT64},
                 {TENSOR_INT64, NPY_INT64},
                 {TENSOR_INT32, NPY_INT32},
                 {TENSOR_BOOL, NPY_BOOL}};
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        if (types[i].type == type) {
            *ret_type = types[i].as;
            return true;
        }
    }
    return false;
}

static int check_input(const struct feed_input *input, struct error *err) {
    const struct shape *shape = &input->shape;
    char text[128];
    enum npy_type type;
    shape_format(shape, text);
    return find_type(input->type, &type) && shape->rank >= 1 && shape->rank <= 2
               ? 0
               : error_set(err, ERROR_INVALID,
                           "spec.scorer.onnx.path: the network's input %.64s is %s %s, for a table "
                           "floats (float32, float64), int64, int32, bool or strings [n, columns] "
                           "are expected",
                           input->name, tensor_type_name(input->type), text);
}

/* Whether each input takes one column of arrays: as many names as inputs, which take more. */
static bool takes_lists(const struct feed_input *inputs, size_t count, size_t listed) {
    size_t values = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t width = slices_width(&inputs[i]);
        values += width >= 1 && width <= COLUMNS_LIST_MAX ? (size_t)width : 0;
        if (width < 1 || width > COLUMNS_LIST_MAX) {
            return false;
        }
    }
    return listed == count && values > count;
}

/* Counts the columns of all inputs; a single input with a free dimension takes as many as are
 * named. */
static int count_columns(const struct columns_options *options, const struct feed_input *inputs,
                         size_t count, size_t *ret_columns, struct error *err) {
    const json_t *names = options->names;
    size_t listed = json_array_size(names), columns = 0;
    for (size_t i = 0; i < count; i++) {
        char shape[128];
        shape_format(&inputs[i].shape, shape);
        if (check_input(&inputs[i], err) < 0) {
            return -1;
        }
        if (!names && slices_width(&inputs[i]) != 1) {
            return error_set(err, ERROR_INVALID,
                             "%s: the network's input %.64s is %s: name its columns, in their "
                             "order",
                             options->field, inputs[i].name, shape);
        }
        bool is_free = count == 1 && inputs[i].shape.rank == 2 && inputs[i].shape.dims[1] < 0;
        columns += is_free && names ? listed : (size_t)slices_width(&inputs[i]);
    }
    bool has_lists = names && takes_lists(inputs, count, listed);
    if (names && (listed == 0 || listed != columns) && !has_lists) {
        char shape[128];
        shape_format(&inputs[0].shape, shape);
        return count == 1 ? error_set(err, ERROR_INVALID,
                                      "%s: names %zu columns, the network's input %.64s is %s",
                                      options->field, listed, inputs[0].name, shape)
                          : error_set(err, ERROR_INVALID,
                                      "%s: names %zu columns, the network's %zu inputs take "
                                      "%zu (without the list each input takes the column of its "
                                      "name)",
                                      options->field, listed, count, columns);
    }
    *ret_columns = columns;
    return 0;
}

/* Assigns names and slices to the inputs, each with its number of columns. */
static void deal(struct columns *columns, const json_t *names) {
    size_t at = 0;
    for (size_t i = 0; i < columns->input_count; i++) {
        const struct feed_input *input = &columns->inputs[i];
        size_t width = columns->input_count == 1 ? columns->count : (size_t)slices_width(input);
        enum npy_type type = NPY_FLOAT64;
        (void)find_type(input->type, &type);
        columns->slices[i] = (struct npy_slice){.type = type,
                                                .rank = input->shape.rank - 1,
                                                .dims = {(int64_t)width},
                                                .values = &columns->values[at]};
        at += width;
    }
    for (size_t i = 0; i < columns->name_count; i++) {
        columns->names[i] =
            names ? json_string_value(json_array_get(names, i)) : columns->inputs[i].name;
    }
}

static bool are_floats(const struct feed_input *inputs, size_t count) {
    bool are = true;
    for (size_t i = 0; i < count; i++) {
        are = are && (inputs[i].type == TENSOR_FLOAT32 || inputs[i].type == TENSOR_FLOAT64);
    }
    return are;
}

int columns_new(const struct columns_options *options, const struct feed_input *inputs,
                size_t count, struct columns **ret_columns, struct error *err) {
    size_t total = 0;
    if (count_columns(options, inputs, count, &total, err) < 0) {
        return -1;
    }
    struct columns *columns = x_calloc(1, sizeof *columns);
    bool has_lists = takes_lists(inputs, count, json_array_size(options->names));
    *columns = (struct columns){.inputs = inputs,
                                .has_lists = has_lists,
                                .name_count = has_lists ? count : total,
                                .input_count = count,
                                .count = total,
                                .names = x_calloc(total, sizeof *columns->names),
                                .options = *options,
                                .values = x_calloc(total, sizeof *columns->values),
                                .slices = x_calloc(count, sizeof *columns->slices)};
    deal(columns, options->names);
    columns->flat =
        !has_lists && are_floats(inputs, count) ? flat_row_new(columns->names, total) : NULL;
    *ret_columns = columns;
    return 0;
}

void columns_add_names(const struct columns *columns, json_t *names) {
    for (size_t i = 0; i < columns->name_count; i++) {
        row_value_add_name(names, columns->names[i]);
    }
}

void columns_free(struct columns *columns) {
    if (columns) {
        flat_row_free(columns->flat);
        free(columns->names);
        free(columns->values);
        free(columns->slices);
        free(columns);
    }
}

/* ---- values --------------------------------------------------------------------------------- */

/* Ignores blanks around the number. "" gives NaN. */
static bool read_text(const char *text, double *ret_number) {
    char *end;
    const char *at = text + strspn(text, " \t");
    if (!*at) {
        *ret_number = NAN;
        return true;
    }
    if (strpbrk(at, "xXpP(")) { /* other number syntax of C */
        return false;
    }
    *ret_number = strtod(at, &end);
    bool is_too_large = isinf(*ret_number) && strpbrk(at, "0123456789");
    return end != at && end[strspn(end, " \t")] == 0 && !is_too_large;
}

static bool read_number(const json_t *value, double *ret_number) {
    if (json_is_string(value)) {
        return read_text(json_string_value(value), ret_number);
    }
    *ret_number = json_is_null(value)      ? NAN
                  : json_is_boolean(value) ? (double)json_boolean_value(value)
                                           : json_number_value(value);
    return json_is_null(value) || json_is_boolean(value) || json_is_number(value);
}

/* "7" and 7 are exact in 64 bits; "7.0" and 7e0 are converted from a double. */
static bool read_whole(const json_t *value, int64_t *ret_whole) {
    double number;
    char *end = NULL;
    const char *text = json_string_value(value);
    errno = 0;
    if (json_is_integer(value)) {
        *ret_whole = json_integer_value(value);
        return true;
    }
    if (text && *text) {
        *ret_whole = strtoll(text, &end, 10);
        if (end != text && end[strspn(end, " \t")] == 0) {
            return errno == 0;
        }
    }
    if (!read_number(value, &number) || !(fabs(number) <= 0x1p53) || number != trunc(number)) {
        return false;
    }
    *ret_whole = (int64_t)number;
    return true;
}

static bool read_boolean(const json_t *value, bool *ret_boolean) {
    static const char *const words[][2] = {{"false", "true"}, {"False", "True"}, {"0", "1"}};
    const char *text = json_string_value(value);
    for (size_t i = 0; text && i < ARRAY_LEN(words); i++) {
        if (strcmp(text, words[i][0]) == 0 || strcmp(text, words[i][1]) == 0) {
            *ret_boolean = strcmp(text, words[i][1]) == 0;
            return true;
        }
    }
    json_int_t whole = json_integer_value(value); /* 0 for other types */
    *ret_boolean = json_is_true(value) || whole == 1;
    return json_is_boolean(value) || (json_is_integer(value) && (whole == 0 || whole == 1));
}

static bool find_text(const struct string_table *strings, const json_t *value,
                      int64_t *ret_number) {
    char digits[32];
    const char *text = json_is_null(value) ? "" : json_string_value(value);
    size_t size = json_is_string(value) ? json_string_length(value) : 0;
    if (json_is_integer(value)) {
        size =
            (size_t)snprintf(digits, sizeof digits, "%lld", (long long)json_integer_value(value));
        text = digits;
    }
    *ret_number = text ? session_string_index(strings, text, size) : -1;
    return text != NULL;
}

/* Writes column k of the input into its slice; *ret_wanted says what type is expected. */
static bool read_value(struct columns *columns, size_t input, size_t k, const json_t *value,
                       const char **ret_wanted) {
    const struct feed_input *takes = &columns->inputs[input];
    char *values = (char *)(uintptr_t)columns->slices[input].values;
    int64_t whole = 0;
    bool boolean = false, fits;
    switch (takes->type) {
    case TENSOR_INT64:
        *ret_wanted = takes->strings ? "a string" : "a whole number";
        fits =
            takes->strings ? find_text(takes->strings, value, &whole) : read_whole(value, &whole);
        ((int64_t *)values)[k] = whole;
        return fits;
    case TENSOR_INT32:
        *ret_wanted = "a whole number of 32 bits";
        fits = read_whole(value, &whole) && whole >= INT32_MIN && whole <= INT32_MAX;
        ((int32_t *)values)[k] = (int32_t)whole;
        return fits;
    case TENSOR_BOOL:
        *ret_wanted = "true or false";
        fits = read_boolean(value, &boolean);
        ((uint8_t *)values)[k] = boolean;
        return fits;
    default:
        fits = read_number(value, &((double *)values)[k]);
        *ret_wanted = fits ? "a number that float32 holds" : "a number";
        return fits && slices_holds(takes->type, ((double *)values)[k]);
    }
}

static int refuse_missing(const struct columns *columns, size_t input, const char *name,
                          struct error *err) {
    if (columns->options.names) {
        return error_set(err, ERROR_INVALID, "it has no column \"%.64s\"", name);
    }
    return error_set(err, ERROR_INVALID,
                     "it has no column \"%.64s\", which is an input of %.200s "
                     "(spec.scorer.onnx.columns can name others)",
                     columns->inputs[input].name, columns->options.model);
}

/* The value of column `at`, which is for this input; of a list the list, with as many values as the
 * input takes. */
static int find_value(const struct columns *columns, size_t input, size_t at, const json_t *row,
                      const json_t **ret_value, struct error *err) {
    const char *name = columns->names[at];
    const json_t *value = row_value(row, name);
    size_t wanted = (size_t)columns->slices[input].dims[0];
    if (!value) {
        return refuse_missing(columns, input, name, err);
    }
    if (columns->has_lists && (!json_is_array(value) || json_array_size(value) != wanted)) {
        return error_set(err, ERROR_INVALID,
                         "column \"%.64s\" is not a list of %zu values, which %.64s takes", name,
                         wanted, columns->inputs[input].name);
    }
    *ret_value = value;
    return 0;
}

int columns_read(struct columns *columns, const json_t *row, const struct npy_slice **ret_slices,
                 struct error *err) {
    size_t at = 0;
    if (!row) {
        return error_set(err, ERROR_INVALID, "not an object, so its columns have no names");
    }
    for (size_t i = 0; i < columns->input_count; i++) {
        int64_t width = columns->slices[i].dims[0];
        for (int64_t k = 0; k < width; k++, at++) {
            const json_t *value = NULL;
            const char *wanted = "";
            size_t name = columns->has_lists ? i : at;
            if (find_value(columns, i, name, row, &value, err) < 0) {
                return -1;
            }
            value = columns->has_lists ? json_array_get(value, (size_t)k) : value;
            if (!read_value(columns, i, (size_t)k, value, &wanted)) {
                const char *text = json_string_value(value);
                return error_set(err, ERROR_INVALID,
                                 "column \"%.64s\" is %s%.64s%s, %s is expected",
                                 columns->names[name], text ? "\"" : "",
                                 text ? text : "not a string", text ? "\"" : "", wanted);
            }
        }
    }
    *ret_slices = columns->slices;
    return 0;
}

bool columns_read_text(struct columns *columns, const char *text, size_t size,
                       const struct npy_slice **ret_slices) {
    if (!columns->flat || !flat_row_read(columns->flat, text, size, (void *)columns->values)) {
        return false;
    }
    for (size_t i = 0; i < columns->input_count; i++) {
        const double *values = columns->slices[i].values;
        for (int64_t k = 0; k < columns->slices[i].dims[0]; k++) {
            if (!slices_holds(columns->inputs[i].type, values[k])) {
                return false;
            }
        }
    }
    *ret_slices = columns->slices;
    return true;
}

void columns_learn(struct columns *columns, const char *text, size_t size) {
    if (columns->flat) {
        flat_row_learn(columns->flat, text, size);
    }
}
