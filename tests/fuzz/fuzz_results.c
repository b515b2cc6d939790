// SPDX-License-Identifier: Apache-2.0
/* Lines of any bytes as rows of results: what row_columns_see takes can be read and written in each
 * form; lines of parts are numbered. The keys of the first two (row_key.h), by columns a and b",
 * are JSON again, and none is the beginning of the other one unless they are equal. The first byte
 * chooses form and types. */
#include "agent/data/rows/row_line.h"
#include "agent/data/rows/row_places.h"
#include "agent/data/rows/rows_form.h"
#include "agent/data/table/row_key.h"
#include "lib/text/jsontext.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int count_bytes(void *context, const void *data, size_t size, struct error *err) {
    (void)err;
    *(size_t *)context += size + (size ? ((const unsigned char *)data)[size - 1] & 0 : 0);
    return 0;
}

typedef int each_line(void *context, const char *line, size_t size, struct error *err);

/* The data end with a newline. */
static void each(const char *data, size_t size, each_line *call, void *context, struct error *err) {
    const char *end = data + size, *newline;
    for (; (newline = memchr(data, '\n', (size_t)(end - data))); data = newline + 1) {
        if (call(context, data, (size_t)(newline - data), err) < 0) {
            return;
        }
    }
}

struct reading {
    struct row_columns columns;
    struct row_cells cells;
    struct rows_writer *writer;
    const struct rows_form *form;
    int64_t seen;
};

static int see(void *context, const char *line, size_t size, struct error *err) {
    struct reading *reading = context;
    return row_columns_see(&reading->columns, line, size, err);
}

static int write_row(void *context, const char *line, size_t size, struct error *err) {
    struct reading *reading = context;
    if (reading->seen++ == reading->columns.rows) {
        return error_set(err, ERROR_CANCELLED, "the first pass ended here");
    }
    int result = row_cells_read(&reading->cells, line, size, err);
    if (result < 0 && err->kind == ERROR_BUG) {
        abort();
    }
    return result < 0 ? -1 : reading->form->add(reading->writer, &reading->cells, err);
}

static void write_all(const char *data, size_t size, unsigned choice) {
    static const struct rows_form *const forms[] = {&rows_csv, &rows_parquet, &rows_npy};
    struct reading reading = {.form = forms[choice % 3]};
    struct error err = {0}, ignored = {0};
    size_t bytes = 0;
    json_t *types = choice & 4 ? json_pack("{s:s,s:s}", "a", choice & 8 ? "Number" : "Vector", "b",
                                           choice & 8 ? "Integer" : "Boolean")
                               : NULL;
    row_columns_init(&reading.columns, NULL, types, choice & 16);
    each(data, size, see, &reading, &ignored);
    row_columns_end(&reading.columns);
    row_cells_init(&reading.cells, &reading.columns);
    const struct rows_form_options options = {.columns = &reading.columns,
                                              .is_plain = choice & 32,
                                              .take = count_bytes,
                                              .context = &bytes};
    if (reading.form->open(&options, &reading.writer, &err) == 0) {
        each(data, size, write_row, &reading, &err);
        error_clear(&err);
        (void)!reading.form->finish(reading.writer, &err);
        reading.form->free(reading.writer);
    }
    row_cells_release(&reading.cells);
    row_columns_release(&reading.columns);
    json_decref(types);
}

static int number(void *context, const char *line, size_t size, struct error *err) {
    struct buffer scratch;
    buffer_init(&scratch, 1 << 20);
    int found = row_places_line(context, &scratch, &line, &size, err);
    if (found > 0 && (size < 2 || *line != '{')) {
        abort();
    }
    buffer_release(&scratch);
    return found;
}

/* A result that is a JSON value makes a row, or names what is there twice. */
static int make_row(void *context, const char *line, size_t size, struct error *err) {
    struct buffer row;
    const struct row_line parts = {
        .head = "\"k\":1", .has_name = true, .json = line, .json_size = size};
    (void)context;
    buffer_init(&row, 1 << 20);
    if (jsontext_is_value(line, size) && row_line_add(&parts, &row, err) == 0 &&
        !jsontext_is_value(row.data, row.size)) {
        abort();
    }
    buffer_release(&row);
    return 0;
}

static void make_key(const struct row_key_columns *columns, const char *row, size_t size,
                     struct buffer *key) {
    struct error err = {0};
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, 1 << 20);
    if (row_key_make(columns, row, size, key, &err) < 0 ||
        row_key_write(&text, key->data, key->size, &err) < 0 ||
        !jsontext_is_value(text.data, text.size)) {
        abort();
    }
}

static void compare_keys(const char *rows, size_t size) {
    const char *newline = memchr(rows, '\n', size);
    size_t first = (size_t)(newline - rows), rest = size - first - 1;
    struct error err = {0};
    struct row_key_columns columns = {0};
    struct buffer a, b;
    if (!jsontext_is_value(rows, first) || !jsontext_is_value(newline + 1, rest)) {
        return;
    }
    buffer_init(&a, 1 << 20);
    buffer_init(&b, 1 << 20);
    if (row_key_column(&columns, "a", &err) < 0 || row_key_column(&columns, "b\"", &err) < 0) {
        abort();
    }
    make_key(&columns, rows, first, &a);
    make_key(&columns, newline + 1, rest, &b);
    size_t shorter = MIN(a.size, b.size);
    if (a.size != b.size && memcmp(a.data, b.data, shorter) == 0) {
        abort();
    }
    buffer_release(&a);
    buffer_release(&b);
    row_key_columns_release(&columns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct row_places places = {0};
    struct error err = {0};
    if (size < 2 || size > 4000 || data[size - 1] != '\n') {
        return 0;
    }
    write_all((const char *)data + 1, size - 1, data[0]);
    compare_keys((const char *)data + 1, size - 1);
    each((const char *)data + 1, size - 1, number, &places, &err);
    error_clear(&err);
    each((const char *)data + 1, size - 1, make_row, NULL, &err);
    row_places_release(&places);
    return 0;
}
