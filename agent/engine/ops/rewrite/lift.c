// SPDX-License-Identifier: Apache-2.0
/* Signals -> images of height 1: convolutions and pools of one dimension, and the nodes
 * between them, so that they use the kernels, the fusion and the layouts of images. A signal [n, c,
 * l] is the image [n, c, 1, l]; both have the same bytes. */
#include "agent/engine/ops/rewrite/rewrite.h"
#include "agent/engine/ops/table.h"

#include <stdlib.h>
#include <string.h>

struct lifting {
    struct builder builder;
    const struct graph *from;
    const struct node *node; /* the one to lift */
    int *images;             /* of the values of `from`: the image; -1: none (yet) */
    bool *is_made;           /* whether a node computes the image, not the signal */
    int *readers;            /* of the values of `from` */
    int axes;                /* the constant [2] */
};

/* ---- what can be lifted ---------------------------------------------------------------------- */

static int input_of(const struct node *node, int index) {
    return index < node->input_count ? node->inputs[index] : -1;
}

static const struct value *constant_of(const struct lifting *lifting, int value) {
    const struct value *of = value < 0 ? NULL : &lifting->from->values[value];
    return of && of->is_constant ? of : NULL;
}

/* A convolution or pool of one dimension. */
static bool is_window(const struct graph *graph, const struct node *node) {
    size_t count = 0;
    switch (node->op->id) {
    case OP_AVERAGE_POOL:
    case OP_MAX_POOL:
        node_integers(node, "kernel_shape", &count);
        return count == 1 && node->output_count == 1;
    case OP_CONV:
    case OP_CONV_TRANSPOSE: {
        const struct value *weights = &graph->values[MAX(node->inputs[1], 0)];
        return node->inputs[1] >= 0 && weights->is_constant && weights->type == TENSOR_FLOAT32 &&
               weights->shape.rank == 3;
    }
    default:
        return false;
    }
}

static bool is_made_image(const struct lifting *lifting, int value) {
    return value >= 0 && lifting->is_made[value];
}

/* Whether all inputs but the first are numbers without dimensions, as the bounds of a Clip. */
static bool has_numbers(const struct lifting *lifting, const struct node *node) {
    bool has = true;
    for (int i = 1; i < node->input_count; i++) {
        const struct value *value = constant_of(lifting, node->inputs[i]);
        has = has && (node->inputs[i] < 0 || (value && value->shape.rank == 0));
    }
    return has;
}

/* A constant of at most three dimensions can be an operand beside a signal. */
static bool fits_beside(const struct lifting *lifting, int value) {
    const struct value *constant = constant_of(lifting, value);
    return is_made_image(lifting, value) || (constant && constant->shape.rank <= 3);
}

/* A constant becomes an image if it has the dimensions of a signal; else the node stays, and is
 * refused when its shapes are inferred. */
static bool has_signals(const struct lifting *lifting, const struct node *node, int count) {
    bool has = true;
    for (int i = 0; i < count; i++) {
        const struct value *constant = constant_of(lifting, input_of(node, i));
        has = has && input_of(node, i) >= 0 && (!constant || constant->shape.rank == 3);
    }
    return has;
}

static bool is_lifted(const struct lifting *lifting, const struct node *node) {
    if (node->output_count < 1 || node->outputs[0] < 0) {
        return false;
    }
    bool is_first = is_made_image(lifting, input_of(node, 0));
    bool is_second = is_made_image(lifting, input_of(node, 1)), is_any = false;
    switch (node->op->id) {
    case OP_ABS:
    case OP_CLIP:
    case OP_ELU:
    case OP_ERF:
    case OP_EXP:
    case OP_GELU:
    case OP_HARD_SIGMOID:
    case OP_HARD_SWISH:
    case OP_IDENTITY:
    case OP_LEAKY_RELU:
    case OP_NEG:
    case OP_RELU:
    case OP_SELU:
    case OP_SIGMOID:
    case OP_SOFTPLUS:
    case OP_SQRT:
    case OP_TANH:
        return is_first && has_numbers(lifting, node);
    case OP_BATCH_NORMALIZATION:
    case OP_GLOBAL_AVERAGE_POOL:
    case OP_GLOBAL_MAX_POOL:
    case OP_INSTANCE_NORMALIZATION:
        return is_first && node->output_count == 1;
    case OP_ADD:
    case OP_DIV:
    case OP_MUL:
    case OP_PRELU:
    case OP_SUB:
        return (is_first || is_second) && fits_beside(lifting, node->inputs[0]) &&
               fits_beside(lifting, node->inputs[1]);
    case OP_CONCAT:
        for (int i = 0; i < node->input_count; i++) {
            is_any |= is_made_image(lifting, node->inputs[i]);
        }
        return is_any && node_integer(node, "axis", 0) == 1 &&
               has_signals(lifting, node, node->input_count);
    default:
        return is_window(lifting->from, node) && has_signals(lifting, node, 1);
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

static int turn(struct lifting *lifting, enum op_id id, int value) {
    const int inputs[] = {value, lifting->axes};
    const struct builder_new_node node = {.op = op_of_id(id),
                                          .name = lifting->node->name,
                                          .input_count = 2,
                                          .output_count = 1,
                                          .inputs = inputs};
    return builder_node(&lifting->builder, &node);
}

/* The shape with a dimension of 1 in front of the last one. */
static struct shape image_shape(const struct shape *shape) {
    struct shape image = *shape;
    image.dims[image.rank++] = shape->dims[shape->rank - 1];
    image.dims[image.rank - 2] = 1;
    return image;
}

/* A constant of two or three dimensions beside images; others stay. If this node alone reads it,
 * it is changed in place, so that nothing holds its memory twice. */
static int constant_image(struct lifting *lifting, int value) {
    struct graph *graph = &lifting->builder.graph;
    const struct value *from = &lifting->from->values[value];
    if (from->shape.rank < 2) {
        return value;
    }
    int to = lifting->readers[value] == 1 ? value : builder_value(&lifting->builder, from->name);
    graph->values[to] = *from;
    graph->values[to].shape = graph->values[to].constant.shape = image_shape(&from->shape);
    return to;
}

static int image_of(struct lifting *lifting, int value) {
    if (value >= 0 && lifting->images[value] < 0) {
        lifting->images[value] = constant_of(lifting, value) ? constant_image(lifting, value)
                                                             : turn(lifting, OP_UNSQUEEZE, value);
    }
    return value < 0 ? -1 : lifting->images[value];
}

/* Whether this input of the node becomes an image. */
static bool is_image_input(const struct node *node, int index) {
    switch (node->op->id) {
    case OP_ADD:
    case OP_CONCAT:
    case OP_DIV:
    case OP_MUL:
    case OP_PRELU:
    case OP_SUB:
        return true;
    case OP_CONV:
    case OP_CONV_TRANSPOSE:
        return index < 2;
    default:
        return index == 0;
    }
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* A list with one number per dimension, or two per dimension for pads: those of the height are
 * `neutral`. */
static void lift_list(struct lifting *lifting, struct attribute *attribute, int64_t neutral) {
    size_t count = attribute->count;
    int64_t *list = arena_array(&lifting->builder.graph.arena, 2 * count, sizeof *list);
    for (size_t i = 0; i < count; i++) {
        list[2 * i] = neutral;
        list[2 * i + 1] = attribute->integers[i];
    }
    attribute->integers = list;
    attribute->count = 2 * count;
}

static const struct attribute *lift_attributes(struct lifting *lifting, const struct node *node) {
    static const struct {
        const char *name;
        int64_t neutral;
    } lists[] = {{"kernel_shape", 1}, {"strides", 1},        {"dilations", 1},
                 {"pads", 0},         {"output_padding", 0}, {"output_shape", 1}};
    struct attribute *attributes =
        arena_array(&lifting->builder.graph.arena, node->attribute_count, sizeof *attributes);
    for (size_t i = 0; i < node->attribute_count; i++) {
        attributes[i] = node->attributes[i];
        for (size_t k = 0; k < ARRAY_LEN(lists) && is_window(lifting->from, node); k++) {
            if (strcmp(attributes[i].name, lists[k].name) == 0) {
                lift_list(lifting, &attributes[i], lists[k].neutral);
            }
        }
    }
    return attributes;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void lift_node(struct lifting *lifting, const struct node *node) {
    struct arena *arena = &lifting->builder.graph.arena;
    struct node copy = *node;
    int *inputs = arena_array(arena, (size_t)node->input_count, sizeof *inputs);
    int *outputs = arena_array(arena, 1, sizeof *outputs),
        *ports = arena_array(arena, 3, sizeof *ports);
    lifting->node = node;
    for (int i = 0; i < node->input_count; i++) {
        inputs[i] = is_image_input(node, i) ? image_of(lifting, node->inputs[i]) : node->inputs[i];
    }
    int signal = node->outputs[0];
    outputs[0] = builder_value(&lifting->builder, lifting->from->values[signal].name);
    copy.inputs = inputs;
    copy.outputs = outputs;
    copy.attributes = lift_attributes(lifting, node);
    builder_append(&lifting->builder, &copy);
    lifting->images[signal] = outputs[0];
    lifting->is_made[signal] = true;
    /* For readers of the signal; it is dropped if there are none. */
    ports[0] = outputs[0];
    ports[1] = lifting->axes;
    ports[2] = signal;
    const struct node squeeze = {.op = op_of_id(OP_SQUEEZE),
                                 .name = node->name,
                                 .opset = BUILDER_OPSET,
                                 .input_count = 2,
                                 .output_count = 1,
                                 .inputs = ports,
                                 .outputs = ports + 2};
    builder_append(&lifting->builder, &squeeze);
}

static void start(struct lifting *lifting, const struct graph *from, struct arena *scratch) {
    const int64_t height = 2;
    lifting->from = from;
    lifting->images = arena_array(scratch, from->value_count, sizeof *lifting->images);
    lifting->is_made = arena_array(scratch, from->value_count, sizeof *lifting->is_made);
    lifting->readers = arena_array(scratch, from->value_count, sizeof *lifting->readers);
    lifting->axes = builder_integers(&lifting->builder, &height, 1);
    for (size_t i = 0; i < from->value_count; i++) {
        lifting->images[i] = -1;
    }
    for (size_t i = 0; i < from->node_count; i++) {
        for (int k = 0; k < from->nodes[i].input_count; k++) {
            int value = from->nodes[i].inputs[k];
            lifting->readers[MAX(value, 0)] += value >= 0;
        }
    }
    for (size_t i = 0; i < from->output_count; i++) {
        lifting->readers[from->outputs[i]]++;
    }
}

/* Signals that nothing reads. */
static void drop_unread(struct lifting *lifting) {
    struct graph *graph = &lifting->builder.graph;
    bool *is_read = x_calloc(graph->value_count, sizeof *is_read);
    size_t kept = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        for (int k = 0; k < graph->nodes[i].input_count; k++) {
            int value = graph->nodes[i].inputs[k];
            is_read[MAX(value, 0)] |= value >= 0;
        }
    }
    for (size_t i = 0; i < graph->output_count; i++) {
        is_read[graph->outputs[i]] = true;
    }
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct node *node = &graph->nodes[i];
        bool is_signal = node->op->id == OP_SQUEEZE && input_of(node, 1) == lifting->axes;
        if (!is_signal || is_read[node->outputs[0]]) {
            graph->nodes[kept++] = *node;
        }
    }
    graph->node_count = kept;
    free(is_read);
}

void rewrite_lift(const struct graph *from, struct graph *ret_graph) {
    struct lifting lifting = {0};
    struct arena scratch = {0};
    bool has_windows = false;
    builder_init(&lifting.builder, from);
    for (size_t i = 0; i < from->node_count && !has_windows; i++) {
        has_windows = is_window(from, &from->nodes[i]);
    }
    if (has_windows) {
        start(&lifting, from, &scratch);
        builder_clear_nodes(&lifting.builder);
        for (size_t i = 0; i < from->node_count; i++) {
            if (is_lifted(&lifting, &from->nodes[i])) {
                lift_node(&lifting, &from->nodes[i]);
            } else {
                builder_append(&lifting.builder, &from->nodes[i]);
            }
        }
    }
    if (has_windows) {
        drop_unread(&lifting);
    }
    arena_release(&scratch);
    builder_take(&lifting.builder, ret_graph);
}
