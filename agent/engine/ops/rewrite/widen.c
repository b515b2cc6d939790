// SPDX-License-Identifier: Apache-2.0
/* float16 and bfloat16 values -> float32, with casts where the model shows them. */
#include "agent/engine/graph/shape_infer.h"
#include "agent/engine/ops/infer/params.h"
#include "agent/engine/ops/rewrite/rewrite.h"
#include "agent/engine/ops/table.h"
#include "agent/engine/ops/types.h"

#include <string.h>

struct widening {
    struct builder builder;
    enum tensor_type *types; /* of the graph's values */
    int *wides;              /* the same value as float32; -1: none (yet) */
    bool *is_made;           /* whether a node makes it as float32 */
};

static bool is_half(enum tensor_type type) {
    return type == TENSOR_FLOAT16 || type == TENSOR_BFLOAT16;
}

static bool has_halves(const struct graph *graph) {
    bool has = false;
    for (size_t i = 0; i < graph->value_count && !has; i++) {
        const struct value *value = &graph->values[i];
        has = (value->is_input || value->is_constant) && is_half(value->type);
    }
    for (size_t i = 0; i < graph->node_count && !has; i++) {
        int id = graph->nodes[i].op->id;
        has = id == OP_CAST || id == OP_EYE_LIKE || id == OP_CONSTANT_OF_SHAPE;
    }
    return has;
}

/* Appends a node that makes value `to` from value `from`. */
static void add_cast(struct widening *widening, const struct node *node, int from, int to,
                     enum tensor_type type) {
    struct arena *arena = &widening->builder.graph.arena;
    struct attribute *attribute = arena_alloc(arena, sizeof *attribute);
    int *ports = arena_array(arena, 2, sizeof *ports);
    *attribute = (struct attribute){
        .name = "to", .kind = ATTRIBUTE_INTEGER, .integer = tensor_type_onnx(type)};
    ports[0] = from;
    ports[1] = to;
    const struct node cast = {.op = op_of_id(OP_CAST),
                              .name = node->name,
                              .opset = BUILDER_OPSET,
                              .input_count = 1,
                              .output_count = 1,
                              .inputs = &ports[0],
                              .outputs = &ports[1],
                              .attribute_count = 1,
                              .attributes = attribute};
    builder_append(&widening->builder, &cast);
}

static int wide_constant(struct builder *builder, const struct tensor *narrow) {
    struct graph *graph = &builder->graph;
    int index = builder_value(builder, "constant");
    struct value *value = &graph->values[index];
    struct tensor wide = {.type = TENSOR_FLOAT32, .shape = narrow->shape};
    int64_t elements = shape_count(&narrow->shape);
    wide.data = arena_array(&graph->arena, (size_t)elements, sizeof(float));
    for (int64_t i = 0; i < elements; i++) {
        ((float *)wide.data)[i] = (float)tensor_number(narrow, i);
    }
    *value = (struct value){.name = value->name,
                            .type = wide.type,
                            .shape = wide.shape,
                            .has_shape = true,
                            .is_constant = true,
                            .constant = wide};
    return index;
}

/* The value as float32, for this node. */
static int wide_of(struct widening *widening, const struct node *node, int index) {
    if (widening->wides[index] < 0) {
        const struct value *value = &widening->builder.graph.values[index];
        if (value->is_constant) {
            const struct tensor narrow = value->constant;
            widening->wides[index] = wide_constant(&widening->builder, &narrow);
        } else {
            int wide = builder_value(&widening->builder, value->name);
            add_cast(widening, node, index, wide, TENSOR_FLOAT32);
            widening->wides[index] = wide;
        }
    }
    return widening->wides[index];
}

/* The types of a node's inputs, with float32 in place of 16 bits where `widens`. */
static void input_types(const struct widening *widening, const struct node *node, bool widens,
                        enum tensor_type *types) {
    for (int i = 0; i < node->input_count; i++) {
        enum tensor_type type =
            node->inputs[i] < 0 ? TENSOR_FLOAT32 : widening->types[node->inputs[i]];
        types[i] = widens && is_half(type) ? TENSOR_FLOAT32 : type;
    }
}

/* Scatter operators support any type, unless they add. */
static bool adds_up(const struct node *node) {
    bool is_scatter = node->op->id == OP_SCATTER_ELEMENTS || node->op->id == OP_SCATTER_ND;
    return is_scatter && strcmp(node_text(node, "reduction", "none"), "none") != 0;
}

/* Whether the node reads float32: it cannot compute in 16 bits; or it can, but all its inputs exist
 * as float32, so that values between two computing nodes are not converted. */
static bool is_to_widen(const struct widening *widening, const struct node *node,
                        const enum tensor_type *types) {
    bool refuses = adds_up(node), halves = false, made = false, others = false;
    for (int i = 0; i < node->input_count; i++) {
        int index = node->inputs[i];
        if (index < 0 || !is_half(types[i])) {
            continue;
        }
        halves = true;
        refuses |= !shape_type_fits(node, i, types[i], types[0]);
        made |= widening->is_made[index];
        others |= !widening->is_made[index] && !widening->builder.graph.values[index].is_constant;
    }
    /* These do not support 16 bits, and are refused by name. */
    halves &= !(node->op->flags & OP_ML);
    return halves && (refuses || (made && !others));
}

static int widen_node(struct widening *widening, const struct node *node,
                      const enum tensor_type *narrow, const enum tensor_type *wide,
                      struct error *err) {
    struct arena *arena = &widening->builder.graph.arena;
    struct node copy = *node;
    int *inputs = arena_array(arena, (size_t)node->input_count, sizeof *inputs);
    int *outputs = arena_array(arena, (size_t)node->output_count, sizeof *outputs);
    for (int i = 0; i < node->input_count; i++) {
        int index = node->inputs[i];
        inputs[i] = index >= 0 && is_half(narrow[i]) ? wide_of(widening, node, index) : index;
    }
    for (int i = 0; i < node->output_count; i++) {
        enum tensor_type type, meant;
        if (types_output(node, narrow, i, &meant, err) < 0 ||
            types_output(node, wide, i, &type, err) < 0) {
            return -1;
        }
        int index = outputs[i] = node->outputs[i];
        if (index >= 0 && type != meant) {
            outputs[i] =
                builder_value(&widening->builder, widening->builder.graph.values[index].name);
            widening->wides[index] = outputs[i];
            widening->is_made[index] = true;
        }
    }
    copy.inputs = inputs;
    copy.outputs = outputs;
    builder_append(&widening->builder, &copy);
    for (int i = 0; i < node->output_count; i++) { /* they are dropped if nothing reads them */
        if (outputs[i] != node->outputs[i]) {
            add_cast(widening, node, outputs[i], node->outputs[i],
                     widening->types[node->outputs[i]]);
        }
    }
    return 0;
}

static int add_node(struct widening *widening, const struct node *node, enum tensor_type *narrow,
                    enum tensor_type *wide, struct error *err) {
    input_types(widening, node, false, narrow);
    input_types(widening, node, true, wide);
    for (int i = 0; i < node->output_count; i++) {
        if (node->outputs[i] >= 0 &&
            types_output(node, narrow, i, &widening->types[node->outputs[i]], err) < 0) {
            return -1;
        }
    }
    if (is_to_widen(widening, node, narrow)) {
        return widen_node(widening, node, narrow, wide, err);
    }
    builder_append(&widening->builder, node);
    return 0;
}

static void start(struct widening *widening, const struct graph *from, struct arena *scratch) {
    widening->types = arena_array(scratch, from->value_count, sizeof *widening->types);
    widening->wides = arena_array(scratch, from->value_count, sizeof *widening->wides);
    widening->is_made = arena_array(scratch, from->value_count, sizeof *widening->is_made);
    for (size_t i = 0; i < from->value_count; i++) {
        widening->types[i] = from->values[i].type;
        widening->wides[i] = -1;
    }
}

int rewrite_widen(const struct graph *from, struct graph *ret_graph, struct error *err) {
    struct widening widening = {0};
    struct arena scratch = {0};
    int result = 0;
    builder_init(&widening.builder, from);
    if (has_halves(from)) {
        enum tensor_type *narrow = arena_array(&scratch, NODE_PORTS_MAX, sizeof *narrow);
        enum tensor_type *wide = arena_array(&scratch, NODE_PORTS_MAX, sizeof *wide);
        start(&widening, from, &scratch);
        builder_clear_nodes(&widening.builder);
        for (size_t i = 0; result == 0 && i < from->node_count; i++) {
            const struct node *node = &from->nodes[i];
            result = add_node(&widening, node, narrow, wide, err);
            result = result < 0
                         ? error_context(err, "%s node \"%.64s\"", node->op->name, node->name)
                         : 0;
        }
    }
    arena_release(&scratch);
    if (result < 0) {
        builder_release(&widening.builder);
        return -1;
    }
    builder_take(&widening.builder, ret_graph);
    return 0;
}
