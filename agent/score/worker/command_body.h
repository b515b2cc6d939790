/* command_body.h: arrays in the answers of a user's program (docs/scorers.md). The member "npy" of
 * a line says which follow it, as numpy.save writes them, without anything between them: 1536128,
 * the bytes of one array, whose slices are the results; or {"vector":1536128,"score":528}, the
 * members of results that are objects. Pure. */
#pragma once

#include "agent/data/array/npy.h"
#include "agent/score/worker/command_line.h"

enum { COMMAND_ARRAYS_MAX = 64 };

struct command_array {
    struct command_slice name; /* as a JSON string; absent: it is the only one */
    int64_t bytes;
    struct npy npy;   /* this and the next: once they are opened */
    const char *data; /* borrowed */
};

struct command_arrays {
    size_t count;
    struct command_array list[COMMAND_ARRAYS_MAX];
    int64_t bytes; /* of all */
};

/* Reads the member, which the names are borrowed from. INVALID: what it should be. */
NODISCARD int command_arrays_read(const struct command_slice *npy,
                                  struct command_arrays *ret_arrays, struct error *err);
/* Reads the heads of the arrays in their bytes, arrays->bytes of them, which are borrowed.
 * *ret_rows: the slices of each. INVALID names the array. */
NODISCARD int command_arrays_open(struct command_arrays *arrays, const char *bytes,
                                  size_t *ret_rows, struct error *err);
/* Appends the result of a row as JSON: numbers as they are (a float32 with the digits that say so),
 * what is not finite as null. EXHAUSTED: the buffer's maximum. */
NODISCARD int command_arrays_row(const struct command_arrays *arrays, size_t row,
                                 struct buffer *text, struct error *err);
