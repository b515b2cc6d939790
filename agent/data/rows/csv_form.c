// SPDX-License-Identifier: Apache-2.0
/* CSV as RFC 4180 has it, in UTF-8: a line with the names, lines end with CR LF, a field with a
 * comma, a quote or a line end is quoted. Null is an empty field, an empty text is "". Numbers are
 * spelled so that reading them gives the same value. Lists and JSON are JSON text. */
#include "agent/data/rows/rows_form.h"

#include "lib/number/decimal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 1 << 30, TAKE_BYTES = 1 << 18 };

struct rows_writer {
    struct rows_form_options options;
    struct buffer text; /* waits */
};

static void csv_free(struct rows_writer *writer) {
    if (writer) {
        buffer_release(&writer->text);
        free(writer);
    }
}

static int add(struct rows_writer *writer, const char *data, size_t size, struct error *err) {
    return buffer_append(&writer->text, data, size, err);
}

static int add_quoted(struct rows_writer *writer, const char *text, size_t size,
                      struct error *err) {
    const char *end = text + size, *quote;
    if (add(writer, "\"", 1, err) < 0) {
        return -1;
    }
    for (; (quote = memchr(text, '"', (size_t)(end - text))); text = quote + 1) {
        if (add(writer, text, (size_t)(quote + 1 - text), err) < 0 ||
            add(writer, "\"", 1, err) < 0) {
            return -1;
        }
    }
    return add(writer, text, (size_t)(end - text), err) < 0 ? -1 : add(writer, "\"", 1, err);
}

static int add_text(struct rows_writer *writer, const char *text, size_t size, struct error *err) {
    bool is_quoted = size == 0;
    for (size_t i = 0; i < size && !is_quoted; i++) {
        is_quoted = text[i] == ',' || text[i] == '"' || text[i] == '\n' || text[i] == '\r';
    }
    /* Spaces at the ends belong to the field; some readers drop them where it is not quoted. */
    is_quoted = is_quoted || text[0] == ' ' || text[size - 1] == ' ';
    return is_quoted ? add_quoted(writer, text, size, err) : add(writer, text, size, err);
}

static void spell(double value, bool is_float, char text[static DECIMAL_BYTES]) {
    if (is_float) {
        snprintf(text, DECIMAL_BYTES, "%.9g", value);
    } else {
        decimal_shortest(value, text);
    }
}

static int add_list(struct rows_writer *writer, const struct row_cells *cells,
                    const struct row_cell *cell, enum row_type type, struct error *err) {
    char text[DECIMAL_BYTES];
    if (add(writer, "\"[", 2, err) < 0) {
        return -1;
    }
    for (size_t i = cell->first; i < cell->first + cell->count; i++) {
        if (cells->nulls[i]) {
            snprintf(text, sizeof text, "null");
        } else if (type == ROW_INTEGERS) {
            snprintf(text, sizeof text, "%lld", (long long)cells->integers[i]);
        } else {
            spell(cells->numbers[i], type == ROW_FLOATS, text);
        }
        if ((i > cell->first && add(writer, ",", 1, err) < 0) ||
            add(writer, text, strlen(text), err) < 0) {
            return -1;
        }
    }
    return add(writer, "]\"", 2, err);
}

static int add_cell(struct rows_writer *writer, const struct row_cells *cells, size_t column,
                    struct error *err) {
    const struct row_cell *cell = &cells->cells[column];
    enum row_type type = cells->columns->columns[column].type;
    char text[DECIMAL_BYTES] = "";
    if (!cell->is_there) {
        return 0;
    }
    switch (type) {
    case ROW_TEXT:
    case ROW_JSON:
        return add_text(writer, cell->text, cell->text_size, err);
    case ROW_INTEGERS:
    case ROW_NUMBERS:
    case ROW_FLOATS:
        return add_list(writer, cells, cell, type, err);
    case ROW_BOOLEAN:
        return add(writer, cell->boolean ? "true" : "false", cell->boolean ? 4 : 5, err);
    case ROW_INTEGER:
        snprintf(text, sizeof text, "%lld", (long long)cell->integer);
        return add(writer, text, strlen(text), err);
    case ROW_NUMBER:
    case ROW_TYPE_COUNT:
    default:
        spell(cell->number, /* is_float= */ false, text);
        return add(writer, text, strlen(text), err);
    }
}

static bool is_wanted(const struct rows_writer *writer, size_t column) {
    return !writer->options.only_heads || writer->options.columns->columns[column].is_head;
}

static int flush_above(struct rows_writer *writer, size_t most, struct error *err) {
    if (writer->text.size <= most) {
        return 0;
    }
    int result =
        writer->options.take(writer->options.context, writer->text.data, writer->text.size, err);
    buffer_clear(&writer->text);
    return result;
}

/* A row; cells NULL: the names. */
static int csv_row(struct rows_writer *writer, const struct row_cells *cells, struct error *err) {
    const struct row_columns *columns = writer->options.columns;
    bool is_first = true;
    size_t wanted = 0, before = writer->text.size;
    for (size_t i = 0; i < columns->count; i++) {
        if (!is_wanted(writer, i)) {
            continue;
        }
        const char *name = columns->columns[i].name;
        if ((!is_first && add(writer, ",", 1, err) < 0) ||
            (cells ? add_cell(writer, cells, i, err) : add_text(writer, name, strlen(name), err)) <
                0) {
            return -1;
        }
        is_first = false;
        wanted++;
    }
    /* A line of nothing is skipped by readers, and later rows would take its place. */
    if (wanted == 1 && writer->text.size == before && add(writer, "\"\"", 2, err) < 0) {
        return -1;
    }
    return add(writer, "\r\n", 2, err) < 0 ? -1 : flush_above(writer, TAKE_BYTES, err);
}

static int csv_open(const struct rows_form_options *options, struct rows_writer **ret_writer,
                    struct error *err) {
    struct rows_writer *writer = x_calloc(1, sizeof *writer);
    writer->options = *options;
    buffer_init(&writer->text, LINE_MAX_BYTES);
    if (csv_row(writer, NULL, err) < 0) {
        csv_free(writer);
        return -1;
    }
    *ret_writer = writer;
    return 0;
}

static int csv_finish(struct rows_writer *writer, struct error *err) {
    return flush_above(writer, 0, err);
}

const struct rows_form rows_csv = {
    .name = "CSV",
    .ending = ".csv",
    .has_heads = true,
    .open = csv_open,
    .add = csv_row,
    .finish = csv_finish,
    .free = csv_free,
};
