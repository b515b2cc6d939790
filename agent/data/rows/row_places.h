/* row_places.h: makes numbers of rows in their files of numbers in their leases (row_head.h), for
 * parts that come in the order of the input. For coordinators. One thread. */
#pragma once

#include "lib/buffer.h"

#include <stdint.h>

struct row_places {
    char *file;   /* the last one, as its JSON string is spelled, with quotes; NULL: none */
    int64_t rows; /* of it, that came before */
};

void row_places_release(struct row_places *places); /* for AUTO, too */
/* In: *line and *size are a line of a part, without newline. 1: it is a row, and they are now its
 * text with the number in the file, borrowed from the old line or from `scratch`. 0: it is the end
 * of a part, and they are as before. INVALID: neither. */
NODISCARD int row_places_line(struct row_places *places, struct buffer *scratch, const char **line,
                              size_t *size, struct error *err);
/* Whether a line of a part is of this file. */
bool row_places_is_of(const char *line, size_t size, const char *file);
/* This many rows of a file have no part, since all have failed. */
void row_places_skip(struct row_places *places, const char *file, int64_t rows);
