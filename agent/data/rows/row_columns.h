/* row_columns.h: which columns a table of results has, and of which types: found by looking at all
 * rows once. A row is a JSON object; its members are the columns, in the order in which they are
 * first seen. The type of a column is the narrowest that holds each of its values without loss; a
 * column whose values have no such type, or are objects, has each value as JSON text. A value that
 * is null or missing is null. One thread. */
#pragma once

#include "lib/text/jsontext.h"
#include "lib/tree.h"

enum { ROW_COLUMNS_MAX = 4096 };

enum row_type {
    ROW_BOOLEAN,
    ROW_INTEGER, /* int64 */
    ROW_NUMBER,  /* double */
    ROW_TEXT,
    ROW_JSON,
    ROW_INTEGERS, /* a list of int64, whose elements may be null */
    ROW_NUMBERS,  /* a list of doubles; the same */
    ROW_FLOATS,   /* a list of floats, which hold each number without loss (row_number.h) */
    ROW_TYPE_COUNT
};

struct row_column {
    char *name;    /* UTF-8; owned */
    char *spelled; /* the name as rows have it: a quoted JSON string; owned */
    enum row_type type;
    bool is_given; /* by spec.output.types: values are converted, or refused */
    bool is_head;  /* a key or a column of the input */
    /* The shortest and longest list; of no list: count_min > count_max. */
    int64_t count_min, count_max;
    bool fits_floats; /* the single numbers, too */
    bool has_nulls;   /* also a row without it, or a null in one of its lists */
    unsigned seen;    /* private: what its values were */
    int64_t row;      /* private: the last row that has it */
    int64_t values;   /* private: rows in which it is not null */
};

struct row_columns {
    struct row_column *columns;
    size_t count, room;
    int64_t rows;        /* number seen so far */
    bool are_of_network; /* row_columns_init */
};

/* heads: a list of names, which come first; may be NULL. types: spec.output.types, name -> type;
 * may be NULL. Both are copied. are_of_network: the numbers of other columns than the heads come
 * from a network, so 0.1 is a float (row_number.h). */
void row_columns_init(struct row_columns *columns, const json_t *heads, const json_t *types,
                      bool are_of_network);
void row_columns_release(struct row_columns *columns); /* for AUTO, too */
/* Looks at the next row. INVALID names the row, counted from 1, and the column: not a JSON object,
 * a member twice, a name with a NUL; EXHAUSTED: too many columns. */
NODISCARD int row_columns_see(struct row_columns *columns, const char *row, size_t size,
                              struct error *err);
/* Decides the types, when all rows were seen. */
void row_columns_end(struct row_columns *columns);
/* The column of a member; hint: where it probably is. NULL: there is none. */
struct row_column *row_columns_find(const struct row_columns *columns,
                                    const struct jsontext_member *member, size_t hint);
const char *row_type_name(enum row_type type); /* as spec.output.types has it, or "lists of ..." */
