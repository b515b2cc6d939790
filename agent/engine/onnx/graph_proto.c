// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/onnx/graph_proto.h"

#include "agent/engine/onnx/attribute_proto.h"
#include "agent/engine/onnx/build.h"
#include "agent/engine/onnx/declared.h"
#include "agent/engine/onnx/string_values.h"
#include "agent/engine/ops/ml/ml.h"

#include <stdio.h>
#include <string.h>

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

static int read_node_parts(struct protobuf message, struct node_parts *parts, struct error *err) {
    struct protobuf rest = message;
    struct protobuf_field field;
    int more;
    *parts = (struct node_parts){.message = message};
    while ((more = protobuf_next(&rest, &field, err)) > 0) {
        if (field.number <= NODE_DOMAIN && field.type != PROTOBUF_BYTES) {
            return error_set(err, ERROR_INVALID, "field %u of a node is not a string",
                             field.number);
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
    return domain_of(parts->domain, &domain)
               ? domain_find(build->context->versions, domain, parts->op)
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
    const struct versions *versions = build->context->versions;
    char ml[40] = "";
    for (enum domain domain = 0; domain < DOMAIN_COUNT; domain++) {
        bool is_used = uses[domain] || (domain == DOMAIN_STANDARD && !uses[DOMAIN_ML]);
        if (is_used && domain_check(versions, domain, err) < 0) {
            return -1;
        }
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
            if (functions_add_node(build->context->functions, field.bytes, &build->nodes, err) <
                0) {
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
    build->pending.count = 0;
    *node = (struct node){.inputs = inputs, .outputs = outputs, .attributes = attributes};
    node->name = build_text(build, parts->name);
    node->opset = (int)build->context->versions->of[domain_of(parts->domain, &domain) ? domain : 0];
    while (protobuf_next(&rest, &field, err) > 0) {
        if (field.number == NODE_INPUT) {
            const char *name = build_text(build, field.bytes);
            int index = -1;
            if (*name && build_find(build, name, &index, err) < 0) {
                return -1;
            }
            if (*name && index < 0) {
                return error_set(err, ERROR_INVALID,
                                 "input \"%.64s\" is not made by an earlier node (nodes must be in "
                                 "order, without cycles)",
                                 name);
            }
            inputs[node->input_count++] = index;
        } else if (field.number == NODE_ATTRIBUTE) {
            struct attribute *attribute = &attributes[node->attribute_count++];
            struct protobuf body;
            if (attribute_proto_read(field.bytes, arena, attribute, &body, err) < 0 ||
                (attribute->kind == ATTRIBUTE_GRAPH &&
                 build_body(build, body, attribute, err) < 0)) {
                return -1;
            }
        }
    }
    if (build_connect(build, node, err) < 0) {
        return -1;
    }
    rest = parts->message;
    while (protobuf_next(&rest, &field, err) > 0) {
        if (field.number == NODE_OUTPUT) {
            int *index = &outputs[node->output_count++];
            *index = -1;
            if (protobuf_size(field.bytes) && build_define(build, field.bytes, index, err) < 0) {
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
        return build_add_constant(build, node, index, err) < 0
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

static int read_parts(struct build *build, struct protobuf message, struct error *err) {
    struct graph *graph = build->graph;
    return each(build, message, GRAPH_INITIALIZER, build_add_initializer, err) < 0 ||
                   each(build, message, GRAPH_INPUT, build_add_input, err) < 0 ||
                   add_nodes(build, err) < 0 ||
                   each(build, message, GRAPH_OUTPUT, build_add_output, err) < 0
               ? -1
           : graph->output_count    ? 0
           : *build->left_out->note ? left_out_all(err)
                                    : error_set(err, ERROR_INVALID, "the graph has no output");
}

static int read_graph(struct build *build, struct protobuf message, struct error *err) {
    struct graph *graph = build->graph;
    if (count_parts(build, message, err) < 0) {
        return -1;
    }
    graph->values = arena_array(&graph->arena, build->value_room, sizeof *graph->values);
    graph->nodes = arena_array(&graph->arena, build->node_room, sizeof *graph->nodes);
    graph->inputs = arena_array(&graph->arena, build->input_room, sizeof *graph->inputs);
    graph->outputs = arena_array(&graph->arena, build->output_room, sizeof *graph->outputs);
    build->left_out->note[0] = 0;
    names_init(&build->names, build->value_room);
    int result = read_parts(build, message, err);
    if (result == 0) {
        declared_read(build, message);
    }
    names_release(&build->names);
    return result;
}

int graph_proto_read(struct protobuf message, const struct graph_context *context,
                     struct graph *graph, struct left_out *ret_left_out, struct error *err) {
    struct build build = {.graph = graph,
                          .context = context,
                          .left_out = ret_left_out,
                          .nodes = {.arena = &graph->arena},
                          .read = read_graph};
    return read_graph(&build, message, err);
}
