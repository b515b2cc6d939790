/* build.h: a graph while its GraphProto is read; private to graph_proto.c (nodes),
 * build_values.c (inputs, constants, outputs) and build_body.c (graphs inside of nodes). */
#pragma once

#include "agent/engine/onnx/graph_proto.h"
#include "agent/engine/onnx/names.h"

enum graph_field {
    GRAPH_NODE = 1,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    GRAPH_SPARSE = 15
};

enum { BODY_DEPTH_MAX = 8 }; /* of If, Loop and Scan in one another */

struct build {
    struct graph *graph;
    struct names names;
    const struct graph_context *context;
    struct left_out *left_out;
    struct node_list nodes; /* without calls of functions */
    size_t value_room, node_room, input_room, output_room;
    struct build *outer; /* NULL: the graph is not a body */
    int depth;
    /* Reads the message into an empty graph. Errors are those of graph_proto_read. */
    int (*read)(struct build *build, struct protobuf message, struct error *err);
    /* Values around the body that it reads, by their indices in the outer graph. They are its last
     * inputs, in this order. */
    struct captures {
        size_t count, room;
        int *values;
    } captures;
    struct captures pending; /* of the bodies of the node that is being read, in this graph */
};

/* ---- build_values.c ------------------------------------------------------------------------- */

char *build_text(struct build *build, struct protobuf text);
void build_capture(struct arena *arena, struct captures *captures, int value);
/* Adds a value; its name must be new. */
NODISCARD int build_define(struct build *build, struct protobuf name, int *ret_index,
                           struct error *err);
/* The index of a value of this graph, or, in a body, of one around it, which becomes an input;
 * *ret_index -1: none has this name. UNSUPPORTED: it is strings. */
NODISCARD int build_find(struct build *build, const char *name, int *ret_index, struct error *err);
/* Each handles one message of the graph's. */
NODISCARD int build_add_initializer(struct build *build, struct protobuf message,
                                    struct error *err);
NODISCARD int build_add_input(struct build *build, struct protobuf message, struct error *err);
NODISCARD int build_add_output(struct build *build, struct protobuf message, struct error *err);
/* A Constant node becomes a value, not a node. */
NODISCARD int build_add_constant(struct build *build, const struct node *node, int index,
                                 struct error *err);

/* ---- build_body.c --------------------------------------------------------------------------- */

/* Reads the body that a node has as an attribute, and appends what it reads of the graph around it
 * to build->pending. */
NODISCARD int build_body(struct build *build, struct protobuf message, struct attribute *attribute,
                         struct error *err);
/* Appends these values to the node's inputs. */
NODISCARD int build_connect(struct build *build, struct node *node, struct error *err);
