// SPDX-License-Identifier: Apache-2.0
/* Parquet: a column per member; lists of floats for vectors, JSON text for what is nested. */
#include "agent/data/parquet/write/parquet_writer.h"
#include "agent/data/rows/rows_form.h"

#include <stdlib.h>

struct rows_writer {
    struct parquet_writer *parquet;
};

static const enum parquet_kind kinds[ROW_TYPE_COUNT] = {
    [ROW_BOOLEAN] = PARQUET_KIND_BOOLEAN, [ROW_INTEGER] = PARQUET_KIND_INTEGER,
    [ROW_NUMBER] = PARQUET_KIND_NUMBER,   [ROW_TEXT] = PARQUET_KIND_TEXT,
    [ROW_JSON] = PARQUET_KIND_JSON,       [ROW_INTEGERS] = PARQUET_KIND_INTEGERS,
    [ROW_NUMBERS] = PARQUET_KIND_NUMBERS, [ROW_FLOATS] = PARQUET_KIND_FLOATS,
};

static void parquet_free(struct rows_writer *writer) {
    if (writer) {
        parquet_writer_free(writer->parquet);
        free(writer);
    }
}

static int parquet_open(const struct rows_form_options *options, struct rows_writer **ret_writer,
                        struct error *err) {
    size_t count = options->columns->count;
    if (count == 0) {
        return error_set(err, ERROR_INVALID,
                         "spec.output.format: Parquet needs a column, and no row has one");
    }
    struct parquet_column *columns = x_calloc(count, sizeof *columns);
    for (size_t i = 0; i < count; i++) {
        const struct row_column *column = &options->columns->columns[i];
        columns[i] = (struct parquet_column){.name = column->name, .kind = kinds[column->type]};
    }
    struct parquet_writer_options parquet = {
        .columns = columns,
        .count = count,
        .codec = options->is_plain ? PARQUET_UNCOMPRESSED : PARQUET_ZSTD,
        .take = options->take,
        .context = options->context,
    };
    struct rows_writer *writer = x_calloc(1, sizeof *writer);
    writer->parquet = parquet_writer_new(&parquet);
    free(columns);
    *ret_writer = writer;
    return 0;
}

static int add_list(struct chunk_writer *chunk, const struct row_cells *cells,
                    const struct row_cell *cell, enum row_type type, struct error *err) {
    bool are_integers = type == ROW_INTEGERS;
    struct parquet_list list = {.count = cell->count};
    if (cell->count) {
        list.values = are_integers ? (const void *)(cells->integers + cell->first)
                                   : cells->numbers + cell->first;
        list.is_null = cells->nulls + cell->first;
    }
    return chunk_writer_list(chunk, &list, err);
}

static int add_cell(struct chunk_writer *chunk, const struct row_cells *cells,
                    const struct row_cell *cell, enum row_type type, struct error *err) {
    if (!cell->is_there) {
        return chunk_writer_null(chunk, err);
    }
    switch (type) {
    case ROW_BOOLEAN:
        return chunk_writer_boolean(chunk, cell->boolean, err);
    case ROW_INTEGER:
        return chunk_writer_integer(chunk, cell->integer, err);
    case ROW_NUMBER:
        return chunk_writer_number(chunk, cell->number, err);
    case ROW_INTEGERS:
    case ROW_NUMBERS:
    case ROW_FLOATS:
        return add_list(chunk, cells, cell, type, err);
    case ROW_TEXT:
    case ROW_JSON:
    case ROW_TYPE_COUNT:
    default:
        return chunk_writer_text(chunk, cell->text, cell->text_size, err);
    }
}

static int parquet_add(struct rows_writer *writer, const struct row_cells *cells,
                       struct error *err) {
    const struct row_columns *columns = cells->columns;
    for (size_t i = 0; i < columns->count; i++) {
        struct chunk_writer *chunk = parquet_writer_column(writer->parquet, i);
        if (add_cell(chunk, cells, &cells->cells[i], columns->columns[i].type, err) < 0) {
            return error_context(err, "row %lld, column \"%.100s\"", (long long)cells->rows,
                                 columns->columns[i].name);
        }
    }
    return parquet_writer_end_row(writer->parquet, err);
}

static int parquet_finish(struct rows_writer *writer, struct error *err) {
    return parquet_writer_finish(writer->parquet, err);
}

const struct rows_form rows_parquet = {
    .name = "Parquet",
    .ending = ".parquet",
    .has_heads = true,
    .open = parquet_open,
    .add = parquet_add,
    .finish = parquet_finish,
    .free = parquet_free,
};
