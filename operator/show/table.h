/* table.h: columns of text as kubectl prints them: as wide as their widest cell, three blanks
 * between. The last column of each row is not padded; on a terminal it is cut at its edge. */
#pragma once

#include "lib/base.h"

enum { TABLE_COLUMNS_MAX = 12, TABLE_GAP = 3, TABLE_CELL_MAX = 1024 };

struct table;

struct table *table_new(void);
void table_free(struct table *table);

/* A row of so many cells (copied; NULL is ""). What would move the cursor is made a blank. */
void table_add(struct table *table, const char *const *cells, size_t count);
/* All rows, each line after `indent`; width: columns of the terminal, 0: no limit. Owned. */
char *table_text(const struct table *table, const char *indent, int width);

/* "45s", "3m20s", "5h", "12d": how long ago, as kubectl has it. */
void table_age(int64_t milliseconds, char text[static 32]);
/* Columns of the terminal on standard output, 0 when it is none. */
int table_width(void);
