// SPDX-License-Identifier: Apache-2.0
/* Frees a graph, names its operators, checks its inputs. */
#include "agent/engine/graph.h"

#include "agent/engine/graph/node.h"

void graph_release(struct graph *graph) {
    arena_release(&graph->arena);
    *graph = (struct graph){0};
}

const char *graph_operator(const struct graph *graph, size_t index) {
    return graph->nodes[index].op->name;
}

int graph_check_input(const struct value *value, const struct tensor *input, struct error *err) {
    bool fits = !value->has_shape || value->shape.rank == input->shape.rank;
    for (int i = 0; fits && value->has_shape && i < value->shape.rank; i++) {
        fits = value->shape.dims[i] < 0 || value->shape.dims[i] == input->shape.dims[i];
    }
    if (input->type != value->type || !fits) {
        char text[128], wanted[128];
        shape_format(&input->shape, text);
        shape_format(&value->shape, wanted);
        return error_set(err, ERROR_INVALID, "input \"%.64s\" is %s %s, %s %s is expected",
                         value->name, tensor_type_name(input->type), text,
                         tensor_type_name(value->type), value->has_shape ? wanted : "of any shape");
    }
    if (shape_count(&input->shape) < 0) {
        return error_set(err, ERROR_INVALID, "input \"%.64s\" is too large", value->name);
    }
    return 0;
}
