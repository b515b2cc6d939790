/* op.h: the description of an operator. The rows are in agent/engine/ops/table.c; code in graph/
 * uses only this header, so it does not depend on particular operators. */
#pragma once

#include "agent/engine/tensor.h"

struct graph;
struct node;

enum attribute_kind {
    ATTRIBUTE_INTEGER,
    ATTRIBUTE_NUMBER,
    ATTRIBUTE_STRING,
    ATTRIBUTE_INTEGERS,
    ATTRIBUTE_NUMBERS,
    ATTRIBUTE_TENSOR,
    ATTRIBUTE_STRINGS,
    ATTRIBUTE_GRAPH,    /* a body, of If, Loop, Scan */
    ATTRIBUTE_OPTIONAL, /* the type of an empty Optional; not kept */
    ATTRIBUTE_KIND_COUNT
};

/* One text of a list: not NUL-terminated, because it points into the model's bytes. */
struct attribute_string {
    const char *bytes;
    size_t size;
};

struct attribute {
    const char *name;
    enum attribute_kind kind;
    int64_t integer;
    float number;
    const char *text;
    size_t count; /* of integers, numbers or strings; for a body see below */
    const int64_t *integers;
    const float *numbers;
    const struct attribute_string *strings;
    struct tensor tensor;
    /* The body. Its last `count` inputs are values of the graph around it: the node has them as
     * inputs, too, after its own and those of its bodies before. */
    const struct graph *graph;
};

/* An attribute that an operator has. If a node has an attribute without a rule, or a value that its
 * rule does not allow, the model is refused when it is loaded. So no attribute is ignored, which
 * would give wrong results. */
struct attribute_rule {
    const char *name; /* NULL ends the table */
    enum attribute_kind kind;
    const char *values; /* ATTRIBUTE_STRING: "constant|reflect|edge"; NULL: any */
    int64_t low, high;  /* ATTRIBUTE_INTEGER: the accepted range; both 0: any */
};

/* What is known about a value before the run, for concrete input shapes. */
struct fact {
    enum tensor_type type;
    struct shape shape; /* all dimensions are known */
    const void *known;  /* the elements, row-major, when they do not depend on the run; else NULL */
};

enum op_flags {
    OP_VIEW = 1, /* output 0 has the same bytes as input 0, so there is nothing to do at run time */
    OP_FROM_SHAPE = 2, /* the outputs depend only on the input's shape */
    /* Multiply-adds, for GFLOP/s: each element of the output (of input 0 for OP_SPREADS) is
     * combined with 1 / w.dims[0] of the weights w, which are input 1. */
    OP_CONVOLVES = 4,
    OP_SPREADS = 8,
    OP_MULTIPLIES = 16, /* a product of matrices: |a| * |b| / (inner size) per pair of matrices */
    OP_COUNTED = OP_CONVOLVES | OP_SPREADS | OP_MULTIPLIES,
    OP_SAME = 32, /* a view where output 0 has the shape of input 0 */
    OP_ML = 64,   /* of the domain ai.onnx.ml */
    /* Has bodies, handles sequences or optionals, or its results have shapes that only the run
     * knows: run/stages/stages.h runs it between stages. */
    OP_LATE = 128,
    OP_MICROSOFT = 256, /* of the domain com.microsoft */
};

struct op {
    int id; /* enum op_id of agent/engine/ops/table.h: the index into a device's kernel table */
    const char *name;
    int since, until; /* valid opsets of this row, both included; 0, 0: no file can name it */
    int inputs_min, inputs_max, outputs_max;
    /* The accepted types of each input; the last letter applies to all further inputs:
     * f float32, r float32/float64, c those and int32, t those and int64, n those and all
     * integers, e those and bool, p float32/float64/int8/uint8, i int32/int64, l int64, u unsigned
     * integers, b bool, * any, = as the first input. */
    const char *types;
    const struct attribute_rule *attributes; /* NULL: none */
    /* Fills the type and shape of every output of the node. inputs[i] is NULL where an optional
     * input is absent. Output types are preset to that of input 0. */
    int (*infer)(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                 struct error *err);
    unsigned flags;
};
