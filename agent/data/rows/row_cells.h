/* row_cells.h: the values of one row, by columns (row_columns.h). One thread. */
#pragma once

#include "agent/data/rows/row_columns.h"
#include "lib/buffer.h"

/* A value of its column's type. */
struct row_cell {
    bool is_there; /* false: null */
    bool boolean;
    int64_t integer;
    double number;
    const char *text; /* TEXT: UTF-8; JSON: as it is spelled. Borrowed from the cells or the row */
    size_t text_size;
    size_t first, count; /* a list: elements of cells->numbers or integers */
};

struct row_cells {
    const struct row_columns *columns; /* borrowed */
    struct row_cell *cells;            /* [columns->count] */
    /* Elements of lists, one place in each of the three per element. */
    double *numbers;
    int64_t *integers;
    bool *nulls;
    size_t elements, room;
    json_t *texts; /* private: strings that had escapes */
    int64_t rows;  /* number read so far; -1: only checks */
};

/* columns: with their types; must outlive the cells. */
void row_cells_init(struct row_cells *cells, const struct row_columns *columns);
void row_cells_release(struct row_cells *cells); /* for AUTO, too */
/* Reads the next row, which row_columns_see has seen; it must outlive the use of the cells. INVALID
 * names row and column: a value that its given type does not hold. Texts are converted to given
 * types: "3.5" is a Number, "" is null. */
NODISCARD int row_cells_read(struct row_cells *cells, const char *row, size_t size,
                             struct error *err);
/* Whether the values of a row, which need not have been seen, fit the types that are given; other
 * members are passed over. INVALID names the column. */
NODISCARD int row_cells_check(struct row_cells *cells, const char *row, size_t size,
                              struct error *err);
