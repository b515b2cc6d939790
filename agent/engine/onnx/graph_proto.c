// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/onnx/graph_proto.h"

#include "agent/engine/graph/resident.h"
#include "agent/engine/graph/string_table.h"

#include "agent/engine/onnx/attribute_proto.h"
#include "agent/engine/onnx/names.h"
#include "agent/engine/onnx/string_values.h"
#include "agent/engine/onnx/tensor_proto.h"
#include "agent/engine/ops/ml/ml.h"

#include <stdio.h>
#include <string.h>

enum graph_field {
    GRAPH_NODE = 1,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    GRAPH_SPARSE = 15
};
enum node_field {
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_NAME = 3,
    NODE_OP = 4,
    NODE_ATTRIBUTE = 5,
    NODE_DOMAIN = 7
};

/* The fields of a NodeProto. */
struct node_parts {
    struct protobuf message, op, name, domain;
    size_t input_count, output_count, attribute_count;
};

struct build {
    struct graph *graph;
    struct names names;
    const struct versions *versions;
    const struct functions *functions;
    struct external_data *external;
    struct left_out *left_out;
    struct node_list nodes; /* without calls of functions */
    size_t value_room, node_room, input_room, output_room;
};

static char *copy_text(struct build *build, struct protobuf text) {
    return arena_text(&build->graph->arena, (const char *)text.at, protobuf_size(text));
}

static int read_node_parts(struct protobuf message, struct node_parts *parts, struct error *err) {
    struct protobuf rest = message;
    struct protobuf_field field;
    int more;
    *parts = (struct node_parts){.message = message};
    while ((more = protobuf_next(&rest, &field, err)) > 0) {
        if (field.number <= NODE_DOMAIN && field.type != PROTOBUF_BYTES) {
            return error_set(err, ERROR_INVALID, "field %u of a node is not a text", field.number);
        }
        switch (field.number) {
        case NODE_INPUT:
            parts->input_count++;
            break;
        case NODE_OUTPUT:
            parts->output_count++;
            break;
        case NODE_ATTRIBUTE:
            parts->attribute_count++;
            break;
        case NODE_NAME:
            parts->name = field.bytes;
            break;
        case NODE_OP:
            parts->op = field.bytes;
            break;
        case NODE_DOMAIN:
            parts->domain = field.bytes;
            break;
        default:
            break;
        }
    }
    if (more == 0 && (parts->input_count > NODE_PORTS_MAX || parts->output_count > NODE_PORTS_MAX ||
                      parts->attribute_count > NODE_PORTS_MAX)) {
        return error_set(err, ERROR_INVALID,
                         "a node has more than %d inputs, outputs or attributes", NODE_PORTS_MAX);
    }
    return more;
}

static bool is_standard(const struct node_parts *parts) {
    enum domain domain;
    return domain_of(parts->domain, &domain) && domain == DOMAIN_STANDARD;
}

static bool is_constant(const struct node_parts *parts) {
    return protobuf_size(parts->op) == 8 && memcmp(parts->op.at, "Constant", 8) == 0 &&
           is_standard(parts);
}

static const struct op *find_op(const struct build *build, const struct node_parts *parts) {
    enum domain domain;
    return domain_of(parts->domain, &domain) ? domain_find(build->versions, domain, parts->op)
                                             : NULL;
}

/* Appends the operator's name to the list of missing ones, each once. */
static void add_missing(char *list, size_t room, const struct node_parts *parts) {
    char name[80];
    bool is_plain = is_standard(parts);
    snprintf(name, sizeof name, "%.*s%s%.*s",
             is_plain ? 0 : (int)MIN(protobuf_size(parts->domain), 30),
             (const char *)parts->domain.at, is_plain ? "" : ".",
             (int)MIN(protobuf_size(parts->op), 40), (const char *)parts->op.at);
    if (!*name) {
        snprintf(name, sizeof name, "(without a name)");
    }
    size_t used = strlen(list), length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at++) {
        if ((at == list || at[-1] == ' ') && (at[length] == ',' || at[length] == 0)) {
            return;
        }
    }
    snprintf(list + used, room - used, "%s%s", used ? ", " : "", name);
}

/* Checks the versions of the domains that are used (a graph without nodes uses the standard one),
 * then reports operators that are missing in these. */
static int check_domains(const struct build *build, const bool *uses, const char *missing,
                         struct error *err) {
    const struct versions *versions = build->versions;
    char ml[40] = "";
    if (((uses[DOMAIN_STANDARD] || !uses[DOMAIN_ML]) &&
         domain_check(versions, DOMAIN_STANDARD, err) < 0) ||
        (uses[DOMAIN_ML] && domain_check(versions, DOMAIN_ML, err) < 0)) {
        return -1;
    }
    if (uses[DOMAIN_ML]) {
        snprintf(ml, sizeof ml, ", ai.onnx.ml %lld", (long long)versions->of[DOMAIN_ML]);
    }
    return *missing
               ? error_set(err, ERROR_UNSUPPORTED, "operators not supported (opset %lld%s): %s",
                           (long long)versions->of[DOMAIN_STANDARD], ml, missing)
               : 0;
}

/* Counts the nodes, and checks that all operators are supported. */
static int count_nodes(struct build *build, struct error *err) {
    char missing[600] = ""; /* longer than an error: a cut list ends with "..." */
    struct node_parts parts;
    bool uses[DOMAIN_COUNT] = {false};
    enum domain domain;
    for (size_t i = 0; i < build->nodes.count; i++) {
        if (read_node_parts(build->nodes.nodes[i], &parts, err) < 0) {
            return -1;
        }
        build->node_room++;
        build->value_room += parts.output_count;
        if (domain_of(parts.domain, &domain)) {
            uses[domain] = true;
        }
        if (!is_constant(&parts) && !find_op(build, &parts)) {
            add_missing(missing, sizeof missing, &parts);
        }
    }
    if (build->node_room > GRAPH_NODES_MAX || build->value_room > GRAPH_VALUES_MAX) {
        return error_set(err, ERROR_INVALID,
                         "%zu nodes and %zu values; at most %d and %d are allowed",
                         build->node_room, build->value_room, GRAPH_NODES_MAX, GRAPH_VALUES_MAX);
    }
    return check_domains(build, uses, missing, err);
}

/* The first pass: counts all parts. */
static int count_parts(struct build *build, struct protobuf message, struct error *err) {
    struct protobuf_field field;
    int more;
    while ((more = protobuf_next(&message, &field, err)) > 0) {
        if (field.type != PROTOBUF_BYTES) {
            continue;
        }
        if (field.number == GRAPH_NODE) {
            if (functions_add_node(build->functions, field.bytes, &build->nodes, err) < 0) {
                return -1;
            }
        } else if (field.number == GRAPH_SPARSE) {
            return error_set(err, ERROR_UNSUPPORTED, "sparse initializers are not supported");
        }
        build->value_room += field.number == GRAPH_INITIALIZER || field.number == GRAPH_INPUT;
        build->input_room += field.number == GRAPH_INPUT;
        build->output_room += field.number == GRAPH_OUTPUT;
    }
    return more < 0 ? -1 : count_nodes(build, err);
}

static int read_dimensions(struct protobuf message, struct shape *shape, struct error *err) {
    struct protobuf_field dim, field;
    int more;
    while ((more = protobuf_next(&message, &dim, err)) > 0) {
        if (dim.number != 1 || dim.type != PROTOBUF_BYTES) {
            continue;
        }
        if (shape->rank == TENSOR_RANK_MAX) {
            return error_set(err, ERROR_UNSUPPORTED, "more than %d dimensions", TENSOR_RANK_MAX);
        }
        int64_t size = -1;
        while ((more = protobuf_next(&dim.bytes, &field, err)) > 0) {
            /* Some exporters write sizes of 0 and less for "any". */
            size = field.number == 1 && (int64_t)field.integer > 0 ? (int64_t)field.integer : size;
        }
        if (more < 0) {
            return -1;
        }
        shape->dims[shape->rank++] = size;
    }
    return more;
}

/* Reads a TypeProto; only tensors are supported. */
static int read_type(struct protobuf message, struct value *value, struct error *err) {
    struct protobuf_field kind, field;
    int more;
    while ((more = protobuf_next(&message, &kind, err)) > 0) {
        if (kind.number != 1 || kind.type != PROTOBUF_BYTES) {
            return error_set(err, ERROR_UNSUPPORTED, "it is not a tensor (a sequence or a map)");
        }
        while ((more = protobuf_next(&kind.bytes, &field, err)) > 0) {
            int result = 0;
            if (field.number == 1 && field.integer == TENSOR_PROTO_TEXT) {
                value->type = TENSOR_INT64;
                value->is_string = true;
            } else if (field.number == 1) {
                result = tensor_proto_type(field.integer, &value->type, err);
            } else if (field.number == 2 && field.type == PROTOBUF_BYTES) {
                value->has_shape = true;
                result = read_dimensions(field.bytes, &value->shape, err);
            }
            if (result < 0) {
                return -1;
            }
        }
        if (more < 0) {
            return -1;
        }
    }
    return more;
}

/* Reads a ValueInfoProto: the name to *ret_name, the type to value if that is not NULL. */
static int read_value_info(struct protobuf message, struct protobuf *ret_name, struct value *value,
                           struct error *err) {
    struct protobuf_field field;
    struct protobuf type = {0};
    int more;
    *ret_name = (struct protobuf){0};
    while ((more = protobuf_next(&message, &field, err)) > 0) {
        if (field.type == PROTOBUF_BYTES && field.number == 1) {
            *ret_name = field.bytes;
        } else if (field.type == PROTOBUF_BYTES && field.number == 2) {
            type = field.bytes;
        }
    }
    return more == 0 && value ? read_type(type, value, err) : more;
}

/* Adds a value; its name must be new. */
static int define(struct build *build, struct protobuf name, int *ret_index, struct error *err) {
    struct graph *graph = build->graph;
    int index = (int)graph->value_count;
    if (protobuf_size(name) == 0) {
        return error_set(err, ERROR_INVALID, "a value without a name");
    }
    char *text = copy_text(build, name);
    if (!names_add(&build->names, text, index)) {
        return error_set(err, ERROR_INVALID, "two values are named \"%.64s\"", text);
    }
    graph->values[index] = (struct value){.name = text};
    graph->value_count++;
    *ret_index = index;
    return 0;
}

static int add_initializer(struct build *build, struct protobuf message, struct error *err) {
    struct tensor tensor;
    struct protobuf name = {0};
    struct error cause = {0};
    const void *raw = NULL;
    int index;
    bool is_string = string_values_is_constant(message);
    struct arena *arena = &build->graph->arena;
    int result = is_string ? string_values_constant(build->graph, message, &tensor, &name, &cause)
                 : external_data_has(message)
                     ? external_data_read(build->external, message, arena, &tensor, &name, &cause)
                     : tensor_proto_read(message, arena, &tensor, &name, &raw, &cause);
    if (result < 0) {
        *err = cause;
        return error_context(err, "initializer %zu", build->graph->value_count + 1);
    }
    if (define(build, name, &index, err) < 0) {
        return -1;
    }
    struct value *value = &build->graph->values[index];
    value->type = tensor.type;
    value->shape = tensor.shape;
    value->has_shape = value->is_constant = true;
    value->is_string = is_string;
    value->constant = tensor;
    if (build->graph->is_of_file && raw) {
        value->origin = raw;
        if (tensor.data != raw) { /* only a copy takes memory */
            resident_drop(raw, (size_t)shape_count(&tensor.shape) * tensor_type_size(tensor.type));
        }
    }
    return 0;
}

static int add_input(struct build *build, struct protobuf message, struct error *err) {
    struct value declared = {0};
    struct protobuf name;
    int index;
    if (read_value_info(message, &name, NULL, err) < 0) {
        return -1;
    }
    const char *text = copy_text(build, name);
    int known = names_find(&build->names, text);
    if (known >= 0 && build->graph->values[known].is_constant) {
        return 0; /* old files list initializers among the inputs, too */
    }
    if (read_value_info(message, &name, &declared, err) < 0) {
        return error_context(err, "input \"%.64s\"", text);
    }
    if (define(build, name, &index, err) < 0) {
        return -1;
    }
    struct value *value = &build->graph->values[index];
    value->type = declared.type;
    value->shape = declared.shape;
    value->has_shape = declared.has_shape;
    value->is_string = declared.is_string;
    if (value->is_string && !build->graph->strings) {
        build->graph->strings = string_table_new(&build->graph->arena);
    }
    value->is_input = true;
    build->graph->inputs[build->graph->input_count++] = index;
    return 0;
}

static int add_output(struct build *build, struct protobuf message, struct error *err) {
    struct protobuf name;
    struct value declared = {0};
    struct error ignored = {0};
    if (read_value_info(message, &name, NULL, err) < 0) {
        return -1;
    }
    const char *text = copy_text(build, name);
    int index = names_find(&build->names, text);
    if (index < 0) {
        return error_set(err, ERROR_INVALID, "no node makes the output \"%.64s\"", text);
    }
    /* Declared types are used only by model_write; shapes are inferred. */
    struct value *value = &build->graph->values[index];
    if (!value->is_input && !value->is_constant &&
        read_value_info(message, &name, &declared, &ignored) == 0) {
        value->type = declared.type;
        value->shape = declared.shape;
        value->has_shape = declared.has_shape;
    }
    if (!left_out_output(build->left_out, build->graph, index)) {
        build->graph->outputs[build->graph->output_count++] = index;
    }
    return 0;
}

/* A Constant node becomes a value, not a node. */
static int add_constant(struct build *build, const struct node *node, int index,
                        struct error *err) {
    const struct attribute *attribute = node->attributes;
    struct value *value = &build->graph->values[index];
    struct tensor tensor = {.type = TENSOR_FLOAT32};
    if (node->attribute_count != 1) {
        return error_set(err, ERROR_INVALID, "%zu attributes, 1 is expected",
                         node->attribute_count);
    }
    if (strcmp(attribute->name, "value") == 0 && attribute->kind == ATTRIBUTE_TENSOR) {
        tensor = attribute->tensor;
    } else if (strcmp(attribute->name, "value_float") == 0 && attribute->kind == ATTRIBUTE_NUMBER) {
        tensor.data = (void *)(uintptr_t)&attribute->number;
    } else if (strcmp(attribute->name, "value_int") == 0 && attribute->kind == ATTRIBUTE_INTEGER) {
        tensor.type = TENSOR_INT64;
        tensor.data = (void *)(uintptr_t)&attribute->integer;
    } else if (strcmp(attribute->name, "value_floats") == 0 &&
               attribute->kind == ATTRIBUTE_NUMBERS) {
        tensor.shape = (struct shape){1, {(int64_t)attribute->count}};
        tensor.data = (void *)(uintptr_t)attribute->numbers;
    } else if (strcmp(attribute->name, "value_ints") == 0 &&
               attribute->kind == ATTRIBUTE_INTEGERS) {
        tensor.type = TENSOR_INT64;
        tensor.shape = (struct shape){1, {(int64_t)attribute->count}};
        tensor.data = (void *)(uintptr_t)attribute->integers;
    } else {
        return error_set(err, ERROR_UNSUPPORTED, "attribute \"%.64s\" is not supported",
                         attribute->name);
    }
    value->type = tensor.type;
    value->shape = tensor.shape;
    value->has_shape = value->is_constant = value->is_literal = true;
    value->constant = tensor;
    return 0;
}

/* Reads inputs, outputs and attributes of a node. Its inputs must have been made before, so a graph
 * has neither cycles nor missing values. */
static int fill_node(struct build *build, const struct node_parts *parts, struct node *node,
                     struct error *err) {
    struct arena *arena = &build->graph->arena;
    int *inputs = arena_array(arena, parts->input_count, sizeof *inputs);
    int *outputs = arena_array(arena, parts->output_count, sizeof *outputs);
    struct attribute *attributes = arena_array(arena, parts->attribute_count, sizeof *attributes);
    struct protobuf rest = parts->message;
    struct protobuf_field field;
    enum domain domain;
    *node = (struct node){.inputs = inputs, .outputs = outputs, .attributes = attributes};
    node->name = copy_text(build, parts->name);
    node->opset = (int)build->versions->of[domain_of(parts->domain, &domain) ? domain : 0];
    while (protobuf_next(&rest, &field, err) > 0) {
        if (field.number == NODE_INPUT) {
            const char *name = copy_text(build, field.bytes);
            int index = *name ? names_find(&build->names, name) : -1;
            if (*name && index < 0) {
                return error_set(err, ERROR_INVALID,
                                 "input \"%.64s\" is made by no earlier node (nodes must be in "
                                 "order, without cycles)",
                                 name);
            }
            inputs[node->input_count++] = index;
        } else if (field.number == NODE_ATTRIBUTE) {
            struct attribute *attribute = &attributes[node->attribute_count++];
            if (attribute_proto_read(field.bytes, arena, attribute, err) < 0) {
                return -1;
            }
        }
    }
    rest = parts->message;
    while (protobuf_next(&rest, &field, err) > 0) {
        if (field.number == NODE_OUTPUT) {
            int *index = &outputs[node->output_count++];
            *index = -1;
            if (protobuf_size(field.bytes) && define(build, field.bytes, index, err) < 0) {
                return -1;
            }
        }
    }
    if (!*node->name && node->output_count && outputs[0] >= 0) {
        node->name = build->graph->values[outputs[0]].name;
    }
    return 0;
}

static int add_node(struct build *build, struct protobuf message, struct error *err) {
    struct graph *graph = build->graph;
    struct node_parts parts;
    struct node *node = &graph->nodes[graph->node_count];
    if (read_node_parts(message, &parts, err) < 0) {
        return -1;
    }
    if (fill_node(build, &parts, node, err) < 0) {
        return error_context(err, "%.*s node \"%.64s\"", (int)MIN(protobuf_size(parts.op), 40),
                             (const char *)parts.op.at, node->name);
    }
    if (is_constant(&parts)) {
        if (node->output_count != 1 || node->outputs[0] < 0) {
            return error_set(err, ERROR_INVALID, "Constant node \"%.64s\" needs one output",
                             node->name);
        }
        int index = node->outputs[0];
        return add_constant(build, node, index, err) < 0
                   ? error_context(err, "Constant node \"%.64s\"", node->name)
                   : 0;
    }
    node->op = find_op(build, &parts);
    graph->node_count++;
    if (string_values_attributes(graph, node, err) < 0) {
        return error_context(err, "%s node \"%.64s\"", node->op->name, node->name);
    }
    if (node_check(node, err) < 0 || ml_check(node, &graph->arena, err) < 0) {
        return -1;
    }
    if (string_values_node(graph, node, err) < 0) {
        return error_context(err, "%s node \"%.64s\"", node->op->name, node->name);
    }
    left_out_node(build->left_out, graph, node);
    return 0;
}

/* Visits all fields of one kind in the order of the file. */
static int each(struct build *build, struct protobuf message, enum graph_field number,
                int (*add)(struct build *, struct protobuf, struct error *), struct error *err) {
    struct protobuf_field field;
    int more;
    while ((more = protobuf_next(&message, &field, err)) > 0) {
        if (field.number == number && field.type == PROTOBUF_BYTES &&
            add(build, field.bytes, err) < 0) {
            return -1;
        }
    }
    return more;
}

static int add_nodes(struct build *build, struct error *err) {
    for (size_t i = 0; i < build->nodes.count; i++) {
        if (add_node(build, build->nodes.nodes[i], err) < 0) {
            return -1;
        }
    }
    return 0;
}

int graph_proto_read(struct protobuf message, const struct graph_context *context,
                     struct graph *graph, struct left_out *ret_left_out, struct error *err) {
    struct build build = {.graph = graph,
                          .versions = context->versions,
                          .functions = context->functions,
                          .external = context->external,
                          .left_out = ret_left_out,
                          .nodes = {.arena = &graph->arena}};
    if (count_parts(&build, message, err) < 0) {
        return -1;
    }
    graph->values = arena_array(&graph->arena, build.value_room, sizeof *graph->values);
    graph->nodes = arena_array(&graph->arena, build.node_room, sizeof *graph->nodes);
    graph->inputs = arena_array(&graph->arena, build.input_room, sizeof *graph->inputs);
    graph->outputs = arena_array(&graph->arena, build.output_room, sizeof *graph->outputs);
    ret_left_out->note[0] = 0;
    names_init(&build.names, build.value_room);
    int result = 0;
    if (each(&build, message, GRAPH_INITIALIZER, add_initializer, err) < 0 ||
        each(&build, message, GRAPH_INPUT, add_input, err) < 0 || add_nodes(&build, err) < 0 ||
        each(&build, message, GRAPH_OUTPUT, add_output, err) < 0) {
        result = -1;
    } else if (graph->output_count == 0) {
        result = *ret_left_out->note ? left_out_all(err)
                                     : error_set(err, ERROR_INVALID, "the graph has no output");
    }
    names_release(&build.names);
    return result;
}
