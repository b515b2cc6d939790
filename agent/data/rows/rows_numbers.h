/* rows_numbers.h: files that are named by numbers, which COCO takes for ids of pictures. Pure. */
#pragma once

#include "lib/base.h"

/* Whether the files of all rows are named by numbers that grow from row to row, 000000397133.jpg,
 * so that these numbers are ids of pictures. Begins with zeros. */
struct rows_numbers {
    bool are_others; /* some name is not a number, or does not grow */
    int64_t last;
    int64_t rows;
};
/* Looks at the next row, whose first member is "file". */
void rows_numbers_see(struct rows_numbers *numbers, const char *row, size_t size);
bool rows_numbers_are(const struct rows_numbers *numbers);
/* The number of a name, without folders and ending; -1: it is not one of at most 15 digits. */
int64_t rows_numbers_of(const char *name, size_t size);
