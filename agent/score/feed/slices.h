/* slices.h: converts slices of arrays (npy.h) to the network's inputs [n, ...]: values are
 * unchanged, in the network's type. Pure. */
#pragma once

#include "agent/data/array/npy.h"
#include "agent/score/feed/feed.h"

/* Splits a slice that has the columns of several inputs in order into one slice per input, without
 * copying values. With one input the result is the slice itself. ret_slices: room for `count`; they
 * borrow from `slice`. INVALID: several inputs, and the slice is not one-dimensional or its length
 * differs from the sum of the inputs' columns. */
NODISCARD int slices_part(const struct npy_slice *slice, const struct feed_input *inputs,
                          size_t count, struct npy_slice *ret_slices, struct error *err);
/* The columns that an input takes: 1 for [n], `columns` for [n, columns], 1 if the network leaves
 * that dimension free. */
int64_t slices_width(const struct feed_input *input);

/* Checks that a slice can be an item of this input. *ret_shape: [items, dimensions of the
 * slice]. INVALID: other dimensions, or a type that cannot hold every value (integers for floats,
 * smaller integers). */
NODISCARD int slices_check(const struct npy_slice *slice, const struct feed_input *input,
                           int64_t items, struct shape *ret_shape, struct error *err);
int64_t slices_count(const struct npy_slice *slice); /* values */
/* Rounding is allowed, a finite number that becomes infinite is not. */
bool slices_holds(enum tensor_type type, double number);
/* INVALID: the type does not hold a value of the slice. */
NODISCARD int slices_check_values(const struct npy_slice *slice, enum tensor_type type,
                                  struct error *err);
/* slices_check of one item, for `measure` of a kind of feed: the input's type, and its shape. */
NODISCARD int slices_measure(const struct npy_slice *slice, const struct feed_input *input,
                             struct tensor *ret_values, bool *ret_is_shared, struct error *err);
/* Only for a pair that slices_check has accepted. ret_values: room for slices_count values of
 * `type`. */
void slices_fill(const struct npy_slice *slice, enum tensor_type type, void *ret_values);
