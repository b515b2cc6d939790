// SPDX-License-Identifier: Apache-2.0
#include "agent/data/rows/single_row.h"

#include "agent/data/rows/row_head.h"
#include "agent/data/rows/rows_form.h"

#include <string.h>

enum { LINE_BYTES_MAX = 256 << 20 };

const char *single_row_ending(const json_t *spec) {
    const char *format = tree_text(spec, "output.format", NULL);
    const struct rows_form *form = format ? rows_form_find(format) : NULL;
    return form ? form->ending : format ? ".jsonl" : NULL;
}

static int take(void *context, const void *data, size_t size, struct error *err) {
    return buffer_append(context, data, size, err);
}

static int write_row(const struct rows_form *form, const struct rows_form_options *options,
                     const struct row_cells *cells, struct error *err) {
    struct rows_writer *writer = NULL;
    if (form->open(options, &writer, err) < 0) {
        return -1;
    }
    int result = form->add(writer, cells, err) < 0 ? -1 : form->finish(writer, err);
    form->free(writer);
    return result;
}

static int make_form(const json_t *spec, const struct rows_form *form, const struct buffer *row,
                     struct buffer *out, struct error *err) {
    AUTO(row_columns_release) struct row_columns columns;
    AUTO(row_cells_release) struct row_cells cells;
    AUTO(tree_freep) json_t *heads = row_heads_names(spec);
    struct rows_numbers numbers = {0};
    struct rows_form_options options = {.columns = &columns, .take = take, .context = out};
    row_columns_init(&columns, heads, tree_get(spec, "output.types"),
                     tree_get(spec, "scorer.onnx") != NULL);
    row_cells_init(&cells, &columns);
    if (row_columns_see(&columns, row->data, row->size, err) < 0) {
        return -1;
    }
    row_columns_end(&columns);
    row_cells_release(&cells);
    row_cells_init(&cells, &columns);
    rows_numbers_see(&numbers, row->data, row->size);
    rows_form_read(spec, &numbers, &options);
    return row_cells_read(&cells, row->data, row->size, err) < 0
               ? -1
               : write_row(form, &options, &cells, err);
}

int single_row_make(const json_t *spec, const struct row_line *line, struct buffer *out,
                    struct error *err) {
    const struct rows_form *form = rows_form_find(tree_text(spec, "output.format", ""));
    if (!form) {
        return row_line_add(line, out, err);
    }
    AUTO(buffer_release) struct buffer row;
    buffer_init(&row, LINE_BYTES_MAX);
    if (row_line_add(line, &row, err) < 0) {
        return -1;
    }
    row.size--; /* without its newline */
    return make_form(spec, form, &row, out, err);
}
