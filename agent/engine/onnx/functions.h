/* functions.h: the functions of a model (ModelProto.functions), which PyTorch's exporter (dynamo)
 * and others write. Nodes that call one are replaced by the function's nodes when the file is read,
 * so nothing else knows functions. Used by agent/engine/onnx. */
#pragma once

#include "agent/engine/onnx/domains.h"
#include "lib/arena.h"

enum { FUNCTIONS_MAX = 1024, FUNCTIONS_DEPTH_MAX = 16, FUNCTIONS_PORTS_MAX = 1024 };
/* Of all nodes that replace calls. */
#define FUNCTIONS_BYTES_MAX ((size_t)64 << 20)
/* What is looked at for all calls: bytes of functions, fields for each name of a value. */
#define FUNCTIONS_LOOKS_MAX ((size_t)128 << 20)

/* A FunctionProto, borrowed from the model's bytes. */
struct function {
    struct protobuf message, name, domain, overload;
    struct protobuf head; /* only inputs, outputs, default attributes, versions; in the arena */
    size_t ports;         /* the fields of the head */
};

struct functions {
    size_t count;
    struct function *list;
    const struct versions *versions; /* of the model; borrowed */
};

/* A graph's NodeProto messages, in order. */
struct node_list {
    size_t count, room, used_bytes;
    size_t calls; /* so far: their numbers are in the names of values */
    size_t looks; /* so far, of FUNCTIONS_LOOKS_MAX */
    struct protobuf *nodes;
    struct arena *arena; /* of the list and of nodes that replace calls */
};

/* Adds a FunctionProto; the list has room. INVALID: more than FUNCTIONS_PORTS_MAX inputs, outputs,
 * attributes and versions, or a second one of this name, domain and overload. */
NODISCARD int functions_add(struct functions *functions, struct protobuf message,
                            struct arena *arena, struct error *err);
/* Appends a node of the graph; if it calls a function, the function's nodes, with names of values
 * that begin with "fN/", N being the number of the call. INVALID: a function that is not valid,
 * calls that are too deep; UNSUPPORTED: more nodes or calls than a graph may have
 * nodes, more than FUNCTIONS_LOOKS_MAX, a function of other versions of the operators, or an
 * overload that no function has. */
NODISCARD int functions_add_node(const struct functions *functions, struct protobuf node,
                                 struct node_list *list, struct error *err);
