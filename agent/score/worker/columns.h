/* columns.h: rows of a table (rows.h's JSON objects) -> slices (npy.h) for the network's inputs.
 * For scorer_onnx. PURE.
 *
 * An input takes the columns that spec.scorer.onnx.columns names, which are those of the first
 * input, then those of the second, ...; without the list each input takes the one column of its own
 * name. Floats: a number as JSON has it, or a text that is one and nothing else; true is 1, false
 * 0; an empty text or null is a missing value, NaN. Whole numbers: the same, and whole; none may be
 * missing. Booleans: true, false, 1 and 0, also as texts. Texts: as they are, a missing one is "",
 * whole numbers in JSON as they are written; the model's encoders decide what becomes of one that
 * they do not know. */
#pragma once

#include "agent/score/worker/slices.h"
#include "lib/tree.h"

struct columns;

/* Of a network with these inputs, which must stay, as spec. INVALID: one is not [n, columns] of
 * floats, int64, int32, booleans or texts; the list has another number of columns; there is none,
 * and an input takes several. */
NODISCARD int columns_new(const json_t *spec, const struct slices_input *inputs, size_t count,
                          struct columns **ret_columns, struct error *err);
void columns_free(struct columns *columns);

/* A slice for each input, borrowed until the next call. INVALID, naming column and input: the item
 * has failed. */
NODISCARD int columns_read(struct columns *columns, const char *row, size_t size,
                           const struct npy_slice **ret_slices, struct error *err);
