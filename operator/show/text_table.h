/* text_table.h: columns of text in kubectl's format: each as wide as its widest cell, three spaces
 * between. The last column of each row is not padded; on a terminal it is truncated at the edge. */
#pragma once

#include "lib/base.h"

enum { TEXT_TABLE_COLUMNS_MAX = 12, TEXT_TABLE_GAP = 3, TEXT_TABLE_CELL_MAX = 1024 };

struct text_table;

struct text_table *text_table_new(void);
void text_table_free(struct text_table *table);

/* Adds a row of `count` cells (copied; NULL is ""). Control characters are replaced by spaces. */
void text_table_add(struct text_table *table, const char *const *cells, size_t count);
/* All rows, each line after `indent`; width: columns of the terminal, 0: no limit. Owned. */
char *text_table_format(const struct text_table *table, const char *indent, int width);

/* An age in kubectl's format: "45s", "3m20s", "5h", "12d". */
void text_table_age(int64_t milliseconds, char text[static 32]);
/* Columns of the terminal on standard output; 0 when it is not a terminal. */
int text_table_width(void);
