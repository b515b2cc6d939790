/* params.h: functions with which shape rules and kernels read a node's parameters: its attributes,
 * and the small integer inputs (axes, pads, sizes) that replace them in newer opsets. */
#pragma once

#include "agent/engine/graph/node.h"

/* inputs[index], or NULL if the node has fewer inputs or this one is absent. */
const struct fact *param_input(const struct node *node, const struct fact *const *inputs,
                               int index);

/* Reads a list of at most `room` integers (int32 or int64). ERROR_UNSUPPORTED names `what` if the
 * value is computed during the run. */
NODISCARD int param_integers(const struct fact *fact, const char *what, int64_t *ret_values,
                             int room, int *ret_count, struct error *err);

enum { PARAM_LIST_MAX = 2 * TENSOR_RANK_MAX };
struct param_list {
    int count; /* -1: the node does not have this list */
    int64_t values[PARAM_LIST_MAX];
};
/* A list of integers from the attribute `name` or, if the node does not have it, from the optional
 * input `index` (-1: none). */
NODISCARD int param_read_list(const struct node *node, const struct fact *const *inputs,
                              const char *name, int index, struct param_list *ret_list,
                              struct error *err);

/* Maps -rank..rank-1 to 0..rank-1. */
NODISCARD int param_axis(int64_t axis, int rank, int *ret_axis, struct error *err);
/* The same for `count` axes, in place; a repeated axis is refused. */
NODISCARD int param_axes(int64_t *axes, int count, int rank, bool *ret_is_axis, struct error *err);

/* The tensor as [outer, size, inner] around an axis that was checked to be in -rank..rank-1. */
struct around {
    int64_t outer, size, inner;
};
struct around param_around_axis(const struct shape *shape, int64_t axis);

/* Checks that the rank is in low..high; else ERROR_INVALID names input `index`. */
NODISCARD int param_rank(const struct fact *fact, int index, int low, int high, struct error *err);

/* An attribute of Gather and OneHot that no file has: 1: the indices are ids of a training's
 * samples; one that is negative or too large is an error. */
#define PARAM_ARE_IDS "windlass:ids"
/* An attribute of Conv, MatMul and Gemm that no file has: all factors are integers of at most 256.
 * PARAM_EXACT: sums that float32 can represent must be exact; PARAM_ROUNDS: they may be rounded. */
#define PARAM_IS_WHOLE "windlass:whole"
enum { PARAM_EXACT = 1, PARAM_ROUNDS = 2 };

/* Converts ONNX's number of an element type; ERROR_UNSUPPORTED: the engine does not have this
 * type. */
NODISCARD int param_type(int64_t onnx_type, enum tensor_type *ret_type, struct error *err);

/* Shape rule for operators whose output has the type and shape of the first input. */
NODISCARD int infer_same(const struct node *node, const struct fact *const *inputs,
                         struct fact *outputs, struct error *err);
/* Shape rule for operators that are expanded into others before a run (rewrite/expand.h): always
 * refuses, and names the operator. */
NODISCARD int infer_expanded(const struct node *node, const struct fact *const *inputs,
                             struct fact *outputs, struct error *err);
/* Shape rule for operators of OP_LATE, which run/stages/stages.h runs: always refuses. */
NODISCARD int infer_late(const struct node *node, const struct fact *const *inputs,
                         struct fact *outputs, struct error *err);
