/* flat_row.h: reads the numbers of a row that is spelled as rows before it were, without a tree of
 * it: a table's rows all have the same members, in one order, or in a few. Pure.
 *
 * flat_row_learn keeps the names and the order of a row that has been read as a tree, so that none
 * of its names is there twice: its shape, of which 16 are kept. flat_row_read takes rows of one of
 * these shapes, whose values are numbers, texts, true, false or null, and the wanted ones numbers,
 * also as texts, or missing; whatever else a row has, it must be read as a tree, where what is
 * wrong is named. Numbers are those of columns.h. */
#pragma once

#include "lib/base.h"

struct flat_row;

/* For these columns; the names are borrowed. NULL: one is named twice. */
struct flat_row *flat_row_new(const char *const *names, size_t count);
void flat_row_free(struct flat_row *row); /* accepts NULL */
/* text: of a valid object. Nothing is kept of one that lacks a column, or spells a name with
 * escapes; after 16 shapes, 256 rows or 65,536 members no more is learnt. */
void flat_row_learn(struct flat_row *row, const char *text, size_t size);
/* ret_values: one for each column; changed also where the answer is false. */
bool flat_row_read(struct flat_row *row, const char *text, size_t size, double *ret_values);
