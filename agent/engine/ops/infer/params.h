/* params.h: what shape rules and kernels read from a node in the same way: its attributes, and the
 * small integer inputs (axes, pads, sizes) that newer opsets use in their place. */
#pragma once

#include "agent/engine/graph.h"

/* inputs[index], or NULL when the node has fewer or leaves it out. */
const struct fact *param_input(const struct node *node, const struct fact *const *inputs,
                               int index);

/* The elements (int32 or int64) of a list of at most `room` integers. ERROR_UNSUPPORTED, naming
 * `what`, when the value is computed during the run. */
NODISCARD int param_integers(const struct fact *fact, const char *what, int64_t *ret_values,
                             int room, int *ret_count, struct error *err);

/* Likewise from the attribute `name` or, where there is none, from the optional input `index`
 * (-1: none). *ret_count is -1 when neither is given. */
NODISCARD int param_list(const struct node *node, const struct fact *const *inputs,
                         const char *name, int index, int64_t *ret_values, int *ret_count,
                         struct error *err);

/* Maps -rank..rank-1 to 0..rank-1. */
NODISCARD int param_axis(int64_t axis, int rank, int *ret_axis, struct error *err);
/* Each of the count axes, in place; a repeated axis is refused. */
NODISCARD int param_axes(int64_t *axes, int count, int rank, bool *ret_is_axis, struct error *err);

/* The tensor as [outer, size, inner] around an axis that was checked: -rank..rank-1. */
struct around {
    int64_t outer, size, inner;
};
struct around around_axis(const struct shape *shape, int64_t axis);

/* rank within low..high, else ERROR_INVALID naming input `index`. */
NODISCARD int param_rank(const struct fact *fact, int index, int low, int high, struct error *err);

/* ONNX's number of an element type; ERROR_UNSUPPORTED for one that is none of ours. */
NODISCARD int param_type(int64_t onnx_type, enum tensor_type *ret_type, struct error *err);

/* Shape rule for operators whose output is like their first input. */
NODISCARD int infer_same(const struct node *node, const struct fact *const *inputs,
                         struct fact *outputs, struct error *err);
/* For operators that are expanded into others before a run (rewrite/expand.h): refuses by name. */
NODISCARD int infer_expanded(const struct node *node, const struct fact *const *inputs,
                             struct fact *outputs, struct error *err);
