/* rows_form.h: writes rows (row_cells.h) as a file of a form: CSV, Parquet, Npy, COCO. A form is
 * one file here and one row of the table in rows_form.c. The same rows give the same bytes. One
 * thread. */
#pragma once

#include "agent/data/rows/row_cells.h"
#include "agent/data/rows/rows_numbers.h"

/* Gets the next bytes of the file. -1 with *err ends the writing. */
typedef int rows_take(void *context, const void *data, size_t size, struct error *err);

struct rows_form_options {
    const struct row_columns *columns; /* with types and counts; must outlive the writer */
    bool only_heads;                   /* CSV: of the columns only those that are heads */
    bool is_plain;                     /* Parquet: not compressed */
    const char *number_type;           /* Npy: "float32", "float16", "int8"; NULL: by the values */
    bool are_numbered;                 /* COCO: rows_numbers_are */
    rows_take *take;
    void *context;
};

struct rows_writer; /* defined by each form */

struct rows_form {
    const char *name;   /* as spec.output.format has it */
    const char *ending; /* of names of such files */
    bool has_heads;     /* heads are in the file; else they go into a CSV file beside it */
    /* INVALID: the columns do not fit the form. */
    int (*open)(const struct rows_form_options *options, struct rows_writer **ret_writer,
                struct error *err);
    int (*add)(struct rows_writer *writer, const struct row_cells *cells, struct error *err);
    int (*finish)(struct rows_writer *writer, struct error *err);
    void (*free)(struct rows_writer *writer); /* accepts NULL */
};

extern const struct rows_form rows_csv, rows_parquet, rows_npy, rows_coco;

/* The row of that name; NULL: none, such as for JSONLines, whose rows stay as they are. */
const struct rows_form *rows_form_find(const char *name);

/* Sets what the spec says about the format; numbers of all rows. */
void rows_form_read(const json_t *spec, const struct rows_numbers *numbers,
                    struct rows_form_options *options);
