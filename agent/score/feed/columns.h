/* columns.h: rows of a table (row_parser.h's JSON objects) -> slices (npy.h) for the network's
 * inputs. Pure.
 *
 * A list names the columns of the first input, then those of the second, and so on; or one column
 * for each input, whose values are arrays of as many values as the input takes. Without a list each
 * input takes the one column of the same name. A name may be a JSON pointer (row_value.h). Floats:
 * a JSON number, or a text that is exactly one number; true is 1, false 0; an empty text or null is
 * a missing value, NaN. Integers: the same, but whole; none may be missing. Booleans: true, false,
 * 1 and 0, also as strings. Strings: unchanged; a missing one is ""; JSON integers as they are
 * spelled. The model's encoders handle unknown strings. */
#pragma once

#include "agent/score/feed/slices.h"
#include "lib/tree.h"

enum { COLUMNS_LIST_MAX = 1 << 20 /* values of an array */ };

struct columns;

/* All pointers are borrowed and must outlive the columns. */
struct columns_options {
    const json_t *names; /* the list; NULL: none */
    const char *field;   /* the list's, for messages: "spec.scorer.onnx.columns" */
    const char *model;   /* the network's path, for messages */
};

/* For these inputs of a network; they must outlive the columns. INVALID: an input is not
 * [n, columns] of floats, int64, int32, booleans or strings; the list has another number of
 * columns; there is no list, and an input takes several columns. */
NODISCARD int columns_new(const struct columns_options *options, const struct feed_input *inputs,
                          size_t count, struct columns **ret_columns, struct error *err);
void columns_free(struct columns *columns);
/* Adds the names of the columns that are read to an array, those that it does not have. */
void columns_add_names(const struct columns *columns, json_t *names);

/* Reads a row's text, in the way of flat_row.h, as columns_read reads its tree. False: it must be
 * read as a tree. */
bool columns_read_text(struct columns *columns, const char *text, size_t size,
                       const struct npy_slice **ret_slices);
/* The text of a row that columns_read has taken: later ones are expected to be like it. */
void columns_learn(struct columns *columns, const char *text, size_t size);

/* Reads a row, an object, into one slice per input, borrowed until the next call. row NULL: it is
 * not an object, and has failed. INVALID, naming column and input: the item has failed. */
NODISCARD int columns_read(struct columns *columns, const json_t *row,
                           const struct npy_slice **ret_slices, struct error *err);
