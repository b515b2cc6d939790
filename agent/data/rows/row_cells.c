// SPDX-License-Identifier: Apache-2.0
#include "agent/data/rows/row_cells.h"

#include "agent/data/rows/row_number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 40 /* bytes of a value in messages */ };

void row_cells_init(struct row_cells *cells, const struct row_columns *columns) {
    *cells = (struct row_cells){.columns = columns, .texts = json_array()};
    cells->cells = x_calloc(MAX(columns->count, (size_t)1), sizeof *cells->cells);
}

void row_cells_release(struct row_cells *cells) {
    free(cells->cells);
    free(cells->numbers);
    free(cells->integers);
    free(cells->nulls);
    json_decref(cells->texts);
    *cells = (struct row_cells){0};
}

/* ---- texts ---------------------------------------------------------------------------------- */

/* The characters of a JSON string that has some without NUL. */
static void read_text(struct row_cells *cells, const struct jsontext_member *member,
                      struct row_cell *cell) {
    cell->text = member->value + 1;
    cell->text_size = member->value_size - 2;
    cell->is_there = true;
    if (memchr(member->value, '\\', member->value_size)) {
        json_t *text = json_loadb(member->value, member->value_size, JSON_DECODE_ANY, NULL);
        json_array_append_new(cells->texts, text);
        cell->is_there = text != NULL;
        cell->text = json_string_value(text);
        cell->text_size = json_string_length(text);
    }
}

static void take_spelled(const struct jsontext_member *member, struct row_cell *cell) {
    cell->text = member->value;
    cell->text_size = member->value_size;
    cell->is_there = true;
}

/* ---- lists ---------------------------------------------------------------------------------- */

static void add_element(struct row_cells *cells, const struct row_number *number) {
    if (cells->elements == cells->room) {
        cells->room = MAX(cells->room * 2, (size_t)1024);
        cells->numbers = x_realloc_array(cells->numbers, cells->room, sizeof *cells->numbers);
        cells->integers = x_realloc_array(cells->integers, cells->room, sizeof *cells->integers);
        cells->nulls = x_realloc_array(cells->nulls, cells->room, sizeof *cells->nulls);
    }
    cells->numbers[cells->elements] = number ? number->value : 0;
    cells->integers[cells->elements] = number ? number->integer : 0;
    cells->nulls[cells->elements++] = !number;
}

/* False: it is not a list of numbers and nulls, or a float cannot hold one. */
static bool read_list(struct row_cells *cells, const struct row_column *column,
                      const struct jsontext_member *member, struct row_cell *cell) {
    const char *end = member->value + member->value_size, *at;
    struct row_number number;
    if (*member->value != '[') {
        return false;
    }
    cell->first = cells->elements;
    at = jsontext_space(member->value + 1, end);
    while (at < end && *at != ']') {
        if (!strchr("-0123456789n", *at)) {
            return false;
        }
        bool is_null = *at == 'n';
        at = is_null ? at + strlen("null") : row_number_read(at, end, &number);
        if (!is_null && column->type == ROW_FLOATS && !isfinite((float)number.value)) {
            return false;
        }
        add_element(cells, is_null ? NULL : &number);
        at = jsontext_space(at, end);
        at = jsontext_space(at + (at < end && *at == ','), end);
    }
    cell->count = cells->elements - cell->first;
    cell->is_there = true;
    return true;
}

/* ---- given types ---------------------------------------------------------------------------- */

/* A number, or a text that is the spelling of one, as JSON has them. */
static bool read_number(const struct row_cell *text, struct row_number *ret_number) {
    const char *end = text->text + text->text_size;
    return text->text_size && strchr("-0123456789", *text->text) &&
           jsontext_is_value(text->text, text->text_size) &&
           row_number_read(text->text, end, ret_number) == end;
}

static bool is_word(const struct row_cell *text, const char *word) {
    return text->text_size == strlen(word) && memcmp(text->text, word, text->text_size) == 0;
}

/* Converts to a Boolean, Integer or Number; false: it is not one of these. */
static bool convert(const struct row_cell *text, enum row_type type, struct row_cell *cell) {
    struct row_number number = {0};
    bool is_number = type != ROW_BOOLEAN && read_number(text, &number);
    bool is_true = is_word(text, "true");
    cell->boolean = is_true;
    cell->integer = number.integer;
    cell->number = number.value;
    switch (type) {
    case ROW_BOOLEAN:
        return is_true || is_word(text, "false");
    case ROW_INTEGER:
        return is_number && number.is_integer;
    default:
        return is_number && number.is_double;
    }
}

static int refuse(const struct row_cells *cells, const struct row_column *column,
                  const struct jsontext_member *member, struct error *err) {
    char row[32] = "";
    if (cells->rows >= 0) {
        snprintf(row, sizeof row, "row %lld, ", (long long)cells->rows + 1);
    }
    return error_set(err, ERROR_INVALID,
                     "%scolumn \"%.100s\": %.*s is not of type %s, which spec.output.types names",
                     row, column->name, (int)MIN(member->value_size, (size_t)SHOWN), member->value,
                     row_type_name(column->type));
}

static int read_given(struct row_cells *cells, const struct row_column *column,
                      const struct jsontext_member *member, struct row_cell *cell,
                      struct error *err) {
    struct row_cell text = {0};
    bool is_text = *member->value == '"', fits = true;
    if (is_text) {
        read_text(cells, member, &text);
        fits = text.is_there;
    } else {
        take_spelled(member, &text);
    }
    bool is_nested = *member->value == '{' || *member->value == '[';
    if (is_text && fits && text.text_size == 0 && column->type != ROW_TEXT &&
        column->type != ROW_JSON) { /* an empty field of CSV */
        return 0;
    }
    if (column->type == ROW_FLOATS) {
        return read_list(cells, column, member, cell) ? 0 : refuse(cells, column, member, err);
    }
    if (!fits || (is_nested && column->type != ROW_JSON)) {
        return refuse(cells, column, member, err);
    }
    if (column->type == ROW_TEXT || column->type == ROW_JSON) {
        *cell = text;
        if (column->type == ROW_JSON) {
            take_spelled(member, cell);
        }
        return 0;
    }
    cell->is_there = convert(&text, column->type, cell);
    return cell->is_there ? 0 : refuse(cells, column, member, err);
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* False: the value is not what row_columns_see has seen. */
static bool read_found(struct row_cells *cells, const struct row_column *column,
                       const struct jsontext_member *member, struct row_cell *cell) {
    struct row_number number = {0};
    switch (column->type) {
    case ROW_TEXT:
        read_text(cells, member, cell);
        return cell->is_there;
    case ROW_BOOLEAN:
        cell->boolean = *member->value == 't';
        cell->is_there = true;
        return true;
    case ROW_INTEGER:
    case ROW_NUMBER:
        row_number_read(member->value, member->value + member->value_size, &number);
        cell->integer = number.integer;
        cell->number = number.value;
        cell->is_there = true;
        return true;
    case ROW_INTEGERS:
    case ROW_NUMBERS:
    case ROW_FLOATS:
        return read_list(cells, column, member, cell);
    case ROW_JSON:
    case ROW_TYPE_COUNT:
    default:
        take_spelled(member, cell);
        return true;
    }
}

static int read_member(struct row_cells *cells, const struct jsontext_member *member, size_t hint,
                       struct error *err) {
    const struct row_column *column = row_columns_find(cells->columns, member, hint);
    struct row_cell *cell = column ? &cells->cells[column - cells->columns->columns] : NULL;
    bool is_null = *member->value == 'n';
    if (column && !is_null && column->is_given) {
        return read_given(cells, column, member, cell, err);
    }
    return column && (is_null || read_found(cells, column, member, cell))
               ? 0
               : error_set(err, ERROR_BUG, "row %lld differs between two readings",
                           (long long)cells->rows + 1);
}

int row_cells_read(struct row_cells *cells, const char *row, size_t size, struct error *err) {
    const char *end = row + size, *at = jsontext_space(row, end);
    struct jsontext_member member;
    memset(cells->cells, 0, cells->columns->count * sizeof *cells->cells);
    cells->elements = 0;
    json_array_clear(cells->texts);
    for (size_t i = 0; jsontext_next_member(&at, end, &member); i++) {
        if (read_member(cells, &member, i, err) < 0) {
            return -1;
        }
    }
    cells->rows++;
    return 0;
}

int row_cells_check(struct row_cells *cells, const char *row, size_t size, struct error *err) {
    const char *end = row + size, *at = jsontext_space(row, end);
    struct jsontext_member member;
    cells->rows = -1;
    cells->elements = 0;
    json_array_clear(cells->texts);
    for (size_t i = 0; jsontext_next_member(&at, end, &member); i++) {
        const struct row_column *column =
            cells->columns->count ? row_columns_find(cells->columns, &member, i) : NULL;
        struct row_cell ignored = {0};
        if (column && column->is_given && *member.value != 'n' &&
            read_given(cells, column, &member, &ignored, err) < 0) {
            return -1;
        }
    }
    return 0;
}
