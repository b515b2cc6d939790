/* columns.h: rows of a table (rows.h's JSON objects) -> slices (npy.h): the columns that
 * spec.scorer.onnx.columns names, in that order, as numbers. For scorer_onnx.
 *
 * A number is as JSON has it, or a text that is one and nothing else; true is 1, false 0; an empty
 * text or null is a missing value, NaN. PURE. */
#pragma once

#include "agent/data/npy.h"
#include "agent/graph/tensor.h"
#include "lib/tree.h"

struct columns;

/* Of a network with this input. INVALID: it is not [n, columns] of floats, or for another number of
 * columns. */
NODISCARD int columns_new(const json_t *spec, const char *name, enum tensor_type type,
                          const struct shape *input, struct columns **ret_columns,
                          struct error *err);
void columns_free(struct columns *columns);

/* The row's numbers, borrowed until the next call. INVALID, naming the column: the item has failed.
 */
NODISCARD int columns_read(struct columns *columns, const char *row, size_t size,
                           struct npy_slice *ret_slice, struct error *err);
