// SPDX-License-Identifier: Apache-2.0
/* Adds the operators on bytes at the ends of a graph. */
#include "agent/engine/ops/rewrite/rewrite.h"

#include "agent/engine/graph/builder.h"
#include "agent/engine/ops/table.h"

#include <string.h>

static const struct attribute *attributes_of(struct arena *arena,
                                             const struct pixel_conversion *bytes) {
    struct attribute *list = arena_array(arena, 3, sizeof *list);
    float *numbers = arena_array(arena, 6, sizeof *numbers);
    memcpy(numbers, bytes->scale, sizeof bytes->scale);
    memcpy(numbers + 3, bytes->shift, sizeof bytes->shift);
    list[0] = (struct attribute){
        .name = "scale", .kind = ATTRIBUTE_NUMBERS, .count = 3, .numbers = numbers};
    list[1] = (struct attribute){
        .name = "shift", .kind = ATTRIBUTE_NUMBERS, .count = 3, .numbers = numbers + 3};
    list[2] =
        (struct attribute){.name = "turned", .kind = ATTRIBUTE_INTEGER, .integer = bytes->is_bgr};
    return list;
}

static int check_input(const struct graph *from, struct error *err) {
    const struct value *x = from->input_count ? &from->values[from->inputs[0]] : NULL;
    bool fits =
        x && x->type == TENSOR_FLOAT32 &&
        (!x->has_shape || (x->shape.rank == 4 && (x->shape.dims[1] == 3 || x->shape.dims[1] < 0)));
    return fits ? 0 : error_set(err, ERROR_INVALID, "the first input is not float32 [n, 3, h, w]");
}

/* Makes the new input 0; FromBytes makes the value that it replaces. */
static void add_from_bytes(struct builder *builder, const struct pixel_conversion *bytes) {
    struct graph *graph = &builder->graph;
    int floats = graph->inputs[0], input = builder_value(builder, graph->values[floats].name);
    struct value *from = &graph->values[floats], *to = &graph->values[input];
    const int64_t *dims = from->shape.dims;
    to->type = TENSOR_UINT8;
    to->has_shape = true;
    to->shape = from->has_shape ? (struct shape){4, {dims[0], dims[2], dims[3], 3}}
                                : (struct shape){4, {-1, -1, -1, 3}};
    to->is_input = true;
    from->is_input = false;
    graph->inputs[0] = input;
    int *ends = arena_array(&graph->arena, 2, sizeof *ends);
    ends[0] = input;
    ends[1] = floats;
    const struct node node = {.op = op_of_id(OP_FROM_BYTES),
                              .name = from->name,
                              .opset = BUILDER_OPSET,
                              .input_count = 1,
                              .output_count = 1,
                              .inputs = &ends[0],
                              .outputs = &ends[1],
                              .attribute_count = 3,
                              .attributes = attributes_of(&graph->arena, bytes)};
    builder_append(builder, &node);
}

static void add_to_bytes(struct builder *builder, const struct pixel_conversion *bytes) {
    struct graph *graph = &builder->graph;
    int floats = graph->outputs[0];
    int made = builder_node(
        builder, &(struct builder_new_node){.op = op_of_id(OP_TO_BYTES),
                                            .name = graph->values[floats].name,
                                            .input_count = 1,
                                            .output_count = 2,
                                            .inputs = &floats,
                                            .attribute_count = 3,
                                            .attributes = attributes_of(&graph->arena, bytes)});
    graph->outputs[0] = made;
    builder_output(builder, made + 1);
}

int rewrite_bytes(const struct graph *from, const struct pixel_conversion *in,
                  const struct pixel_conversion *out, struct graph *ret_graph, struct error *err) {
    struct builder builder;
    if (check_input(from, err) < 0) {
        return -1;
    }
    builder_init(&builder, from);
    builder_clear_nodes(&builder);
    add_from_bytes(&builder, in);
    for (size_t i = 0; i < from->node_count; i++) {
        builder_append(&builder, &from->nodes[i]);
    }
    if (out) {
        add_to_bytes(&builder, out);
    }
    builder_take(&builder, ret_graph);
    return 0;
}
