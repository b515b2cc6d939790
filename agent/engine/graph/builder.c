// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/graph/builder.h"

#include <string.h>

/* Makes room for one more item. Former arrays stay in the arena; together they are no larger than
 * the present one. */
static void *grow(struct arena *arena, void *items, size_t count, size_t *room, size_t size) {
    if (count < *room) {
        return items;
    }
    *room = MAX(2 * *room, 64);
    void *larger = arena_array(arena, *room, size);
    if (count) {
        memcpy(larger, items, count * size);
    }
    return larger;
}

static void *copy(struct arena *arena, const void *items, size_t count, size_t size) {
    void *mine = arena_array(arena, count, size);
    if (count) {
        memcpy(mine, items, count * size);
    }
    return mine;
}

void builder_init(struct builder *builder, const struct graph *from) {
    *builder = (struct builder){0};
    if (!from) {
        return;
    }
    struct graph *graph = &builder->graph;
    *graph = *from;
    graph->arena = (struct arena){0};
    graph->may_evict = false; /* now two graphs read the same constants */
    graph->values = copy(&graph->arena, from->values, from->value_count, sizeof *from->values);
    graph->nodes = copy(&graph->arena, from->nodes, from->node_count, sizeof *from->nodes);
    graph->inputs = copy(&graph->arena, from->inputs, from->input_count, sizeof(int));
    graph->outputs = copy(&graph->arena, from->outputs, from->output_count, sizeof(int));
    builder->value_room = from->value_count;
    builder->node_room = from->node_count;
    builder->input_room = from->input_count;
    builder->output_room = from->output_count;
}

void builder_release(struct builder *builder) {
    graph_release(&builder->graph);
    *builder = (struct builder){0};
}

void builder_take(struct builder *builder, struct graph *ret_graph) {
    *ret_graph = builder->graph;
    *builder = (struct builder){0};
}

int builder_value(struct builder *builder, const char *name) {
    struct graph *graph = &builder->graph;
    graph->values = grow(&graph->arena, graph->values, graph->value_count, &builder->value_room,
                         sizeof *graph->values);
    graph->values[graph->value_count] = (struct value){.name = name};
    return (int)graph->value_count++;
}

int builder_constant(struct builder *builder, const struct tensor *tensor) {
    int index = builder_value(builder, "constant");
    struct value *value = &builder->graph.values[index];
    value->type = tensor->type;
    value->shape = tensor->shape;
    value->has_shape = value->is_constant = true;
    value->constant = *tensor;
    value->constant.owned = false;
    value->constant.data =
        copy(&builder->graph.arena, tensor->data, (size_t)shape_count(&tensor->shape),
             tensor_type_size(tensor->type));
    return index;
}

int builder_integers(struct builder *builder, const int64_t *values, int count) {
    struct tensor tensor = {.type = TENSOR_INT64,
                            .shape = {1, {count}},
                            .data = (void *)(uintptr_t)values}; /* it is only read */
    return builder_constant(builder, &tensor);
}

int builder_number(struct builder *builder, float value) {
    struct tensor tensor = {.type = TENSOR_FLOAT32, .data = &value};
    return builder_constant(builder, &tensor);
}

void builder_add_input(struct builder *builder, int value) {
    struct graph *graph = &builder->graph;
    graph->inputs = grow(&graph->arena, graph->inputs, graph->input_count, &builder->input_room,
                         sizeof *graph->inputs);
    graph->inputs[graph->input_count++] = value;
    graph->values[value].is_input = true;
}

int builder_input(struct builder *builder, const char *name, enum tensor_type type,
                  const struct shape *shape) {
    int index = builder_value(builder, name);
    struct value *value = &builder->graph.values[index];
    value->type = type;
    value->has_shape = shape != NULL;
    value->shape = shape ? *shape : (struct shape){0};
    builder_add_input(builder, index);
    return index;
}

void builder_make_input(struct builder *builder, int value) {
    builder->graph.values[value].is_constant = false;
    builder->graph.values[value].constant = (struct tensor){0};
    builder_add_input(builder, value);
}

void builder_output(struct builder *builder, int value) {
    struct graph *graph = &builder->graph;
    graph->outputs = grow(&graph->arena, graph->outputs, graph->output_count, &builder->output_room,
                          sizeof *graph->outputs);
    graph->outputs[graph->output_count++] = value;
}

void builder_clear_nodes(struct builder *builder) {
    builder->graph.node_count = 0;
}

void builder_append(struct builder *builder, const struct node *node) {
    struct graph *graph = &builder->graph;
    graph->nodes = grow(&graph->arena, graph->nodes, graph->node_count, &builder->node_room,
                        sizeof *graph->nodes);
    graph->nodes[graph->node_count++] = *node;
}

int builder_node(struct builder *builder, const struct builder_new_node *node) {
    struct graph *graph = &builder->graph;
    int first = (int)graph->value_count;
    int *outputs = arena_array(&graph->arena, (size_t)node->output_count, sizeof *outputs);
    for (int i = 0; i < node->output_count; i++) {
        outputs[i] = builder_value(builder, node->name);
    }
    graph->nodes = grow(&graph->arena, graph->nodes, graph->node_count, &builder->node_room,
                        sizeof *graph->nodes);
    graph->nodes[graph->node_count++] = (struct node){
        .op = node->op,
        .name = node->name,
        .opset = node->opset ? node->opset : BUILDER_OPSET,
        .input_count = node->input_count,
        .output_count = node->output_count,
        .inputs = copy(&graph->arena, node->inputs, (size_t)node->input_count, sizeof(int)),
        .outputs = outputs,
        .attribute_count = node->attribute_count,
        .attributes =
            copy(&graph->arena, node->attributes, node->attribute_count, sizeof *node->attributes),
    };
    return first;
}
