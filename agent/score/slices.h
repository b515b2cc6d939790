/* slices.h: slices of arrays (npy.h) -> the network's input [n, ...]: each value as it is, in the
 * network's type. For scorer_onnx. PURE. */
#pragma once

#include "agent/data/npy.h"
#include "agent/graph/tensor.h"

/* May a slice be an item of this input ([n, ...], -1: any)? *ret_shape: [items, sides of the
 * slice]. INVALID: other sides, or a type that cannot hold every value (integers for floats,
 * smaller integers). */
NODISCARD int slices_check(const struct npy_slice *slice, enum tensor_type type,
                           const struct shape *input, int64_t items, struct shape *ret_shape,
                           struct error *err);
int64_t slices_count(const struct npy_slice *slice); /* values */
/* Of a pair that slices_check has passed; ret_values: slices_count of `type`. */
void slices_fill(const struct npy_slice *slice, enum tensor_type type, void *ret_values);
