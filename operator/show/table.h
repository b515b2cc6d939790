/* table.h: columns of text in kubectl's format: each as wide as its widest cell, three spaces
 * between. The last column of each row is not padded; on a terminal it is truncated at the edge. */
#pragma once

#include "lib/base.h"

enum { TABLE_COLUMNS_MAX = 12, TABLE_GAP = 3, TABLE_CELL_MAX = 1024 };

struct table;

struct table *table_new(void);
void table_free(struct table *table);

/* Adds a row of `count` cells (copied; NULL is ""). Control characters are replaced by spaces. */
void table_add(struct table *table, const char *const *cells, size_t count);
/* All rows, each line after `indent`; width: columns of the terminal, 0: no limit. Owned. */
char *table_text(const struct table *table, const char *indent, int width);

/* An age in kubectl's format: "45s", "3m20s", "5h", "12d". */
void table_age(int64_t milliseconds, char text[static 32]);
/* Columns of the terminal on standard output; 0 when it is not a terminal. */
int table_width(void);
