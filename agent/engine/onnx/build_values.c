// SPDX-License-Identifier: Apache-2.0
/* Names of values in a graph that is read: defined, found, captured by subgraphs. */
#include "agent/engine/onnx/build.h"

#include "agent/engine/graph/node.h"
#include "agent/engine/graph/resident.h"
#include "agent/engine/graph/string_table.h"
#include "agent/engine/onnx/string_values.h"
#include "agent/engine/onnx/tensor_proto.h"

#include <string.h>

char *build_text(struct build *build, struct protobuf text) {
    return arena_text(&build->graph->arena, (const char *)text.at, protobuf_size(text));
}

void build_capture(struct arena *arena, struct captures *captures, int value) {
    if (captures->count == captures->room) {
        captures->room = MAX(2 * captures->room, (size_t)8);
        int *longer = arena_array(arena, captures->room, sizeof *longer);
        if (captures->count) {
            memcpy(longer, captures->values, captures->count * sizeof *longer);
        }
        captures->values = longer;
    }
    captures->values[captures->count++] = value;
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

enum type_field { TYPE_TENSOR = 1, TYPE_SEQUENCE = 4, TYPE_DENOTATION = 6, TYPE_OPTIONAL = 9 };

/* Reads a TypeProto; of sequences and optionals nothing but that they are such. Its denotation
 * ("IMAGE") is for people. */
static int read_type(struct protobuf message, struct value *value, struct error *err) {
    struct protobuf_field kind, field;
    int more;
    while ((more = protobuf_next(&message, &kind, err)) > 0) {
        if (kind.number == TYPE_DENOTATION) {
            continue;
        }
        if (kind.number == TYPE_SEQUENCE || kind.number == TYPE_OPTIONAL) {
            value->is_list = true;
            continue;
        }
        if (kind.number != TYPE_TENSOR || kind.type != PROTOBUF_BYTES) {
            return error_set(err, ERROR_UNSUPPORTED,
                             "it is a map or a sparse tensor, a tensor is expected");
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

/* Captured values come on top of those that were counted. */
static int add_value(struct build *build, const struct value *value) {
    struct graph *graph = build->graph;
    if (graph->value_count == build->value_room) {
        build->value_room = MAX(2 * build->value_room, (size_t)16);
        struct value *more = arena_array(&graph->arena, build->value_room, sizeof *more);
        if (graph->value_count) {
            memcpy(more, graph->values, graph->value_count * sizeof *more);
        }
        graph->values = more;
    }
    graph->values[graph->value_count] = *value;
    return (int)graph->value_count++;
}

int build_define(struct build *build, struct protobuf name, int *ret_index, struct error *err) {
    int index = (int)build->graph->value_count;
    if (protobuf_size(name) == 0) {
        return error_set(err, ERROR_INVALID, "a value without a name");
    }
    char *text = build_text(build, name);
    if (!names_add(&build->names, text, index)) {
        return error_set(err, ERROR_INVALID, "two values are named \"%.64s\"", text);
    }
    *ret_index = add_value(build, &(struct value){.name = text});
    return 0;
}

static void add_to_inputs(struct build *build, int index) {
    struct graph *graph = build->graph;
    if (graph->input_count == build->input_room) {
        build->input_room = MAX(2 * build->input_room, (size_t)8);
        int *more = arena_array(&graph->arena, build->input_room, sizeof *more);
        if (graph->input_count) {
            memcpy(more, graph->inputs, graph->input_count * sizeof *more);
        }
        graph->inputs = more;
    }
    graph->inputs[graph->input_count++] = index;
}

int build_find(struct build *build, const char *name, int *ret_index, struct error *err) {
    int outer = -1;
    *ret_index = names_find(&build->names, name);
    if (*ret_index >= 0 || !build->outer) {
        return 0;
    }
    if (build_find(build->outer, name, &outer, err) < 0) {
        return -1;
    }
    if (outer < 0) {
        return 0;
    }
    const struct value *value = &build->outer->graph->values[outer];
    if (value->is_string) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "\"%.64s\" holds strings, which a body cannot read", name);
    }
    /* Its type may not be known yet; a run sees what it is. */
    *ret_index = add_value(build, &(struct value){.name = value->name, .is_input = true});
    (void)names_add(&build->names, value->name, *ret_index);
    add_to_inputs(build, *ret_index);
    build_capture(&build->graph->arena, &build->captures, outer);
    return 0;
}

static int read_elsewhere(struct build *build, struct protobuf message, struct tensor *ret_tensor,
                          struct protobuf *ret_name, const void **ret_origin, struct error *err) {
    struct external_tensor read;
    if (external_data_read(build->context->external, message, &build->graph->arena, &read, err) <
        0) {
        return -1;
    }
    *ret_tensor = read.tensor;
    *ret_name = read.name;
    *ret_origin = read.origin;
    return 0;
}

int build_add_initializer(struct build *build, struct protobuf message, struct error *err) {
    struct tensor tensor;
    struct protobuf name = {0};
    struct error cause = {0};
    const void *raw = NULL;
    int index;
    bool is_string = string_values_is_constant(message), elsewhere = external_data_has(message);
    struct arena *arena = &build->graph->arena;
    int result = is_string   ? string_values_constant(build->graph, message, &tensor, &name, &cause)
                 : elsewhere ? read_elsewhere(build, message, &tensor, &name, &raw, &cause)
                             : tensor_proto_read(message, arena, &tensor, &name, &raw, &cause);
    if (result < 0) {
        *err = cause;
        return error_context(err, "initializer %zu", build->graph->value_count + 1);
    }
    if (build_define(build, name, &index, err) < 0) {
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
        if (tensor.data != raw && !elsewhere) { /* only a copy takes memory */
            resident_drop(raw, (size_t)shape_count(&tensor.shape) * tensor_type_size(tensor.type));
        }
    }
    return 0;
}

int build_add_input(struct build *build, struct protobuf message, struct error *err) {
    struct value declared = {0};
    struct protobuf name;
    int index;
    if (read_value_info(message, &name, NULL, err) < 0) {
        return -1;
    }
    const char *text = build_text(build, name);
    int known = names_find(&build->names, text);
    if (known >= 0 && build->graph->values[known].is_constant) {
        return 0; /* old files list initializers among the inputs, too */
    }
    if (read_value_info(message, &name, &declared, err) < 0) {
        return error_context(err, "input \"%.64s\"", text);
    }
    if (declared.is_list && !build->outer) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "input \"%.64s\" is a sequence or an optional: only tensors can be inputs",
                         text);
    }
    if (build_define(build, name, &index, err) < 0) {
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
    value->is_list = declared.is_list;
    add_to_inputs(build, index);
    return 0;
}

int build_add_output(struct build *build, struct protobuf message, struct error *err) {
    struct protobuf name;
    struct value declared = {0};
    struct error ignored = {0};
    if (read_value_info(message, &name, NULL, err) < 0) {
        return -1;
    }
    const char *text = build_text(build, name);
    int index;
    if (build_find(build, text, &index, err) < 0) {
        return -1;
    }
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
        value->is_list = declared.is_list;
    }
    if (!left_out_output(build->left_out, build->graph, index)) {
        build->graph->outputs[build->graph->output_count++] = index;
    }
    return 0;
}

/* A Constant node becomes a value, not a node. */
int build_add_constant(struct build *build, const struct node *node, int index, struct error *err) {
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
