// SPDX-License-Identifier: Apache-2.0
/* Npy (NEP 1, version 1): one array [rows, ...] of the numbers of each row: of the only list, or of
 * all columns with one number, in order; heads are left out. Elements are f4 where floats hold all
 * of them, else f8, i8 if all are integers and none is null; a null is NaN in floats. */
#include "agent/data/rows/rows_form.h"

#include "lib/number/half.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_UNIT = 64, HEAD_MAX = 256 };

enum element { FLOAT16, FLOAT32, FLOAT64, INT8, INT64, ELEMENT_COUNT };

static const struct {
    const char *name, *spelled;
    size_t size;
} elements[ELEMENT_COUNT] = {
    [FLOAT16] = {"float16", "<f2", 2}, [FLOAT32] = {"float32", "<f4", 4},
    [FLOAT64] = {"float64", "<f8", 8}, [INT8] = {"int8", "|i1", 1},
    [INT64] = {"int64", "<i8", 8},
};

struct rows_writer {
    struct rows_form_options options;
    enum element element;
    int64_t list;   /* the column with lists; -1: single numbers */
    int64_t width;  /* elements of a row */
    bool is_single; /* a row is a number, without an axis */
    struct buffer row;
};

static void npy_free(struct rows_writer *writer) {
    if (writer) {
        buffer_release(&writer->row);
        free(writer);
    }
}

static bool is_list(const struct row_column *column) {
    return column->type == ROW_FLOATS || column->type == ROW_NUMBERS ||
           column->type == ROW_INTEGERS;
}

static bool is_number(const struct row_column *column) {
    return column->type == ROW_INTEGER || column->type == ROW_NUMBER;
}

/* Chooses the columns. */
static int choose(struct rows_writer *writer, struct error *err) {
    const struct row_columns *columns = writer->options.columns;
    int64_t numbers = 0;
    writer->list = -1;
    for (size_t i = 0; i < columns->count; i++) {
        const struct row_column *column = &columns->columns[i];
        if (column->is_head) {
            continue;
        }
        if (is_list(column) && writer->list >= 0) {
            return error_set(err, ERROR_INVALID,
                             "columns \"%.80s\" and \"%.80s\" both have lists, and an npy file "
                             "has one array: use spec.output.format: Parquet",
                             columns->columns[writer->list].name, column->name);
        }
        writer->list = is_list(column) ? (int64_t)i : writer->list;
        numbers += is_number(column);
        if (!is_list(column) && !is_number(column)) {
            return error_set(err, ERROR_INVALID,
                             "column \"%.100s\" has values of type %s, and an npy file numbers: "
                             "use spec.output.format: Parquet",
                             column->name, row_type_name(column->type));
        }
    }
    if (writer->list >= 0 ? numbers > 0 : numbers == 0) {
        return error_set(err, ERROR_INVALID,
                         "the results have %lld columns with single numbers beside %d with lists, "
                         "and an npy file has one array: use spec.output.format: Parquet",
                         (long long)numbers, writer->list >= 0);
    }
    writer->width = numbers;
    writer->is_single = numbers == 1;
    return 0;
}

static int measure(struct rows_writer *writer, struct error *err) {
    const struct row_column *list = &writer->options.columns->columns[MAX(writer->list, 0)];
    if (writer->list < 0) {
        return 0;
    }
    writer->width = MAX(list->count_max, 0);
    return list->count_min >= list->count_max
               ? 0
               : error_set(err, ERROR_INVALID,
                           "column \"%.100s\" has lists of %lld to %lld numbers, and all rows of "
                           "an npy file have one length: use spec.output.format: Parquet",
                           list->name, (long long)list->count_min, (long long)list->count_max);
}

static enum element element_of(const struct rows_writer *writer) {
    const struct row_columns *columns = writer->options.columns;
    bool are_floats = true, are_integers = true;
    for (int i = 0; i < ELEMENT_COUNT && writer->options.number_type; i++) {
        if (strcmp(elements[i].name, writer->options.number_type) == 0) {
            return (enum element)i;
        }
    }
    for (size_t i = 0; i < columns->count; i++) {
        const struct row_column *column = &columns->columns[i];
        bool is_given = column->type == ROW_FLOATS;
        are_floats = are_floats && (column->is_head || column->fits_floats || is_given);
        bool is_integer = column->type == ROW_INTEGER || column->type == ROW_INTEGERS;
        are_integers = are_integers && (column->is_head || (is_integer && !column->has_nulls));
    }
    return are_floats ? FLOAT32 : are_integers ? INT64 : FLOAT64;
}

static int put_head(struct rows_writer *writer, struct error *err) {
    char head[HEAD_MAX] = "", shape[64];
    int64_t rows = writer->options.columns->rows;
    snprintf(shape, sizeof shape, writer->is_single ? "%lld," : "%lld, %lld", (long long)rows,
             (long long)writer->width);
    int size = snprintf(head, sizeof head,
                        "\x93NUMPY\x01%c%c%c{'descr': '%s', 'fortran_order': False, 'shape': (%s), "
                        "}",
                        0, 0, 0, elements[writer->element].spelled, shape);
    size_t all = ((size_t)size + 1 + HEAD_UNIT - 1) / HEAD_UNIT * HEAD_UNIT;
    memset(head + size, ' ', all - (size_t)size);
    head[all - 1] = '\n';
    head[8] = (char)((all - 10) & 0xff);
    head[9] = (char)((all - 10) >> 8);
    return writer->options.take(writer->options.context, head, all, err);
}

static int npy_open(const struct rows_form_options *options, struct rows_writer **ret_writer,
                    struct error *err) {
    struct rows_writer *writer = x_calloc(1, sizeof *writer);
    writer->options = *options;
    buffer_init(&writer->row, (size_t)1 << 30);
    if (choose(writer, err) < 0 || measure(writer, err) < 0) {
        npy_free(writer);
        return -1;
    }
    writer->element = element_of(writer);
    if (put_head(writer, err) < 0) {
        npy_free(writer);
        return -1;
    }
    *ret_writer = writer;
    return 0;
}

struct value {
    bool is_null;
    bool is_integer; /* `integer` is exact, and `number` may be rounded */
    int64_t integer;
    double number;
};

/* Whether the double is this integer. 2^63 is beyond int64_t. */
static bool holds(double number, int64_t integer) {
    return number < 0x1p63 && (int64_t)number == integer;
}

/* False: the type of the elements does not hold it. */
static bool encode(const struct rows_writer *writer, const struct value *value,
                   char bytes[static 8]) {
    double number = value->is_null ? NAN : value->number;
    float rounded = (float)number;
    uint16_t half = half_from_double(number);
    bool is_whole = !value->is_null && floor(number) == number;
    int8_t small = is_whole && fabs(number) <= 128 && number < 128 ? (int8_t)number : 0;
    switch (writer->element) {
    case FLOAT16:
        memcpy(bytes, &half, sizeof half);
        return value->is_null || isfinite(half_to_float(half));
    case FLOAT32:
        memcpy(bytes, &rounded, sizeof rounded);
        return true;
    case INT8:
        memcpy(bytes, &small, sizeof small);
        return is_whole && (double)small == number;
    case INT64:
        memcpy(bytes, &value->integer, sizeof value->integer);
        return !value->is_null;
    case FLOAT64:
    case ELEMENT_COUNT:
    default:
        memcpy(bytes, &number, sizeof number);
        return !value->is_integer || holds(number, value->integer);
    }
}

static int put_value(struct rows_writer *writer, const struct row_cells *cells,
                     const struct value *value, size_t column, struct error *err) {
    char bytes[8];
    if (!encode(writer, value, bytes)) {
        return error_set(err, ERROR_INVALID, "row %lld, column \"%.100s\": %s is not a value of %s",
                         (long long)cells->rows, cells->columns->columns[column].name,
                         value->is_null ? "null" : "a number", elements[writer->element].name);
    }
    return buffer_append(&writer->row, bytes, elements[writer->element].size, err);
}

static int put_list(struct rows_writer *writer, const struct row_cells *cells, struct error *err) {
    const struct row_cell *cell = &cells->cells[writer->list];
    for (int64_t i = 0; i < writer->width; i++) {
        size_t at = cell->first + (size_t)i;
        struct value value = {.is_null = !cell->is_there || cells->nulls[at]};
        if (!value.is_null) {
            value.is_integer = cells->columns->columns[writer->list].type == ROW_INTEGERS;
            value.integer = cells->integers[at];
            value.number = cells->numbers[at];
        }
        if (put_value(writer, cells, &value, (size_t)writer->list, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int npy_add(struct rows_writer *writer, const struct row_cells *cells, struct error *err) {
    buffer_clear(&writer->row);
    for (size_t i = 0; i < cells->columns->count && writer->list < 0; i++) {
        const struct row_cell *cell = &cells->cells[i];
        bool is_integer = cells->columns->columns[i].type == ROW_INTEGER && cell->is_there;
        struct value value = {!cell->is_there, is_integer, cell->integer, cell->number};
        if (!cells->columns->columns[i].is_head && put_value(writer, cells, &value, i, err) < 0) {
            return -1;
        }
    }
    if (writer->list >= 0 && put_list(writer, cells, err) < 0) {
        return -1;
    }
    return writer->options.take(writer->options.context, writer->row.data, writer->row.size, err);
}

static int npy_finish(struct rows_writer *writer UNUSED, struct error *err UNUSED) {
    return 0;
}

const struct rows_form rows_npy = {
    .name = "Npy",
    .ending = ".npy",
    .open = npy_open,
    .add = npy_add,
    .finish = npy_finish,
    .free = npy_free,
};
