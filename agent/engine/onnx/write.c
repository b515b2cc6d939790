// SPDX-License-Identifier: Apache-2.0
/* Writes a graph as an ONNX file. */
#include "agent/engine/model.h"

#include "agent/engine/graph/node.h"
#include "agent/engine/onnx/domains.h"
#include "agent/engine/onnx/put.h"
#include "agent/engine/onnx/tensor_proto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum model_field {
    MODEL_IR = 1,
    MODEL_PRODUCER = 2,
    MODEL_VERSION = 3,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8
};
enum graph_field {
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12
};
enum node_field { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP = 4, NODE_ATTRIBUTE = 5 };
enum { NODE_DOMAIN = 7, OPSET_DOMAIN = 1, OPSET_VERSION = 2 };
enum attribute_field {
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_F = 2,
    ATTRIBUTE_I = 3,
    ATTRIBUTE_S = 4,
    ATTRIBUTE_T = 5,
    ATTRIBUTE_FLOATS = 7,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_TYPE = 20
};
enum { NAME_BYTES = 32 };

struct writing {
    const struct graph *graph;
    const struct write_options *options;
    struct versions versions; /* of the domains whose operators have been written */
    struct buffer *to;        /* the graph's message */
    struct buffer part;       /* a message inside it, whose size is not known yet */
    struct buffer inner;      /* a message inside that */
    char name[NAME_BYTES];
};

/* The value's name, or one made from its number; valid until the next call. */
static const char *name_of(struct writing *writing, int value) {
    if (value < 0) {
        return ""; /* an absent optional input */
    }
    const char *name = writing->graph->values[value].name;
    if (name && *name) {
        return name;
    }
    snprintf(writing->name, sizeof writing->name, "windlass:%d", value);
    return writing->name;
}

static int put_part(struct writing *writing, uint32_t field, struct error *err) {
    int result = put_bytes(writing->to, field, writing->part.data, writing->part.size, err);
    buffer_clear(&writing->part);
    return result;
}

/* ---- values --------------------------------------------------------------------------------- */

static int put_shape(struct buffer *type, const struct shape *shape, struct error *err) {
    AUTO(buffer_release) struct buffer dims;
    buffer_init(&dims, 4096);
    for (int i = 0; i < shape->rank; i++) {
        AUTO(buffer_release) struct buffer dim;
        buffer_init(&dim, 64);
        if ((shape->dims[i] >= 0 && put_integer(&dim, 1, shape->dims[i], err) < 0) ||
            put_bytes(&dims, 1, dim.data, dim.size, err) < 0) {
            return -1;
        }
    }
    return put_bytes(type, 2, dims.data, dims.size, err);
}

/* A ValueInfoProto: name 1, type 2; TypeProto: tensor 1; of it: element type 1, shape 2. */
static int put_value(struct writing *writing, uint32_t field, int index, struct error *err) {
    const struct value *value = &writing->graph->values[index];
    AUTO(buffer_release) struct buffer tensor;
    AUTO(buffer_release) struct buffer type;
    buffer_init(&tensor, 8192);
    buffer_init(&type, 8192);
    return put_integer(&tensor, 1, tensor_type_onnx(value->type), err) < 0 ||
                   (value->has_shape && put_shape(&tensor, &value->shape, err) < 0) ||
                   put_bytes(&type, 1, tensor.data, tensor.size, err) < 0 ||
                   put_text(&writing->part, 1, name_of(writing, index), err) < 0 ||
                   put_bytes(&writing->part, 2, type.data, type.size, err) < 0
               ? -1
               : put_part(writing, field, err);
}

static struct tensor constant_of(const struct writing *writing, int index) {
    struct tensor tensor = writing->graph->values[index].constant;
    const void *const *weights = writing->options->weights;
    if (weights && weights[index]) {
        tensor.data = (void *)(uintptr_t)weights[index]; /* never written to */
    }
    return tensor;
}

static int put_initializer(struct writing *writing, int index, struct error *err) {
    struct tensor tensor = constant_of(writing, index);
    return tensor_proto_put(&writing->part, name_of(writing, index), &tensor, err) < 0
               ? -1
               : put_part(writing, GRAPH_INITIALIZER, err);
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static int put_list(struct writing *writing, const struct attribute *attribute, struct error *err) {
    AUTO(buffer_release) struct buffer packed;
    bool is_numbers = attribute->kind == ATTRIBUTE_NUMBERS;
    buffer_init(&packed, WRITE_BYTES_MAX);
    for (size_t i = 0; i < attribute->count; i++) {
        int result = is_numbers ? buffer_append(&packed, &attribute->numbers[i], sizeof(float), err)
                                : put_varint(&packed, (uint64_t)attribute->integers[i], err);
        if (result < 0) {
            return -1;
        }
    }
    return put_bytes(&writing->inner, is_numbers ? ATTRIBUTE_FLOATS : ATTRIBUTE_INTS, packed.data,
                     packed.size, err);
}

static int check_attribute(const struct attribute *attribute, struct error *err) {
    bool is_strings = attribute->kind == ATTRIBUTE_STRINGS; /* only in ai.onnx.ml */
    bool is_graph = attribute->kind == ATTRIBUTE_GRAPH || attribute->kind == ATTRIBUTE_OPTIONAL;
    return is_strings || is_graph
               ? error_set(err, ERROR_UNSUPPORTED, "attribute \"%.64s\": %s are not written",
                           attribute->name, is_graph ? "graphs" : "strings")
               : 0;
}

static int put_attribute_value(struct writing *writing, const struct attribute *attribute,
                               struct error *err) {
    switch (attribute->kind) {
    case ATTRIBUTE_INTEGER:
        return put_integer(&writing->inner, ATTRIBUTE_I, attribute->integer, err);
    case ATTRIBUTE_NUMBER:
        return put_number(&writing->inner, ATTRIBUTE_F, attribute->number, err);
    case ATTRIBUTE_STRING:
        return put_text(&writing->inner, ATTRIBUTE_S, attribute->text, err);
    case ATTRIBUTE_TENSOR: {
        AUTO(buffer_release) struct buffer tensor;
        buffer_init(&tensor, WRITE_BYTES_MAX);
        return tensor_proto_put(&tensor, "", &attribute->tensor, err) < 0
                   ? -1
                   : put_bytes(&writing->inner, ATTRIBUTE_T, tensor.data, tensor.size, err);
    }
    default:
        return put_list(writing, attribute, err);
    }
}

static int put_attribute(struct writing *writing, const struct attribute *attribute,
                         struct error *err) {
    static const int64_t onnx_types[ATTRIBUTE_KIND_COUNT] = {
        [ATTRIBUTE_NUMBER] = 1, [ATTRIBUTE_INTEGER] = 2, [ATTRIBUTE_STRING] = 3,
        [ATTRIBUTE_TENSOR] = 4, [ATTRIBUTE_NUMBERS] = 6, [ATTRIBUTE_INTEGERS] = 7};
    buffer_clear(&writing->inner);
    return check_attribute(attribute, err) < 0 ||
                   put_text(&writing->inner, ATTRIBUTE_NAME, attribute->name, err) < 0 ||
                   put_attribute_value(writing, attribute, err) < 0 ||
                   put_integer(&writing->inner, ATTRIBUTE_TYPE, onnx_types[attribute->kind], err) <
                       0
               ? -1
               : put_bytes(&writing->part, NODE_ATTRIBUTE, writing->inner.data, writing->inner.size,
                           err);
}

/* All nodes of a domain have one version, which the file declares. */
static int note_domain(struct writing *writing, const struct node *node, enum domain domain,
                       struct error *err) {
    int64_t *version = &writing->versions.of[domain];
    *version = *version ? *version : node->opset;
    return node->opset == *version
               ? 0
               : error_set(err, ERROR_INVALID, "%s node \"%.64s\" is of opset %d, not %d",
                           node->op->name, node->name, node->opset, (int)*version);
}

static int put_node(struct writing *writing, const struct node *node, struct error *err) {
    enum domain domain = domain_of_op(node->op);
    int result = note_domain(writing, node, domain, err);
    for (int i = 0; result == 0 && i < node->input_count; i++) {
        result = put_text(&writing->part, NODE_INPUT, name_of(writing, node->inputs[i]), err);
    }
    for (int i = 0; result == 0 && i < node->output_count; i++) {
        result = put_text(&writing->part, NODE_OUTPUT, name_of(writing, node->outputs[i]), err);
    }
    if (result < 0 || put_text(&writing->part, NODE_NAME, node->name ? node->name : "", err) < 0 ||
        put_text(&writing->part, NODE_OP, node->op->name, err) < 0 ||
        (domain != DOMAIN_STANDARD &&
         put_text(&writing->part, NODE_DOMAIN, domain_name(domain), err) < 0)) {
        return -1;
    }
    for (size_t i = 0; i < node->attribute_count; i++) {
        if (put_attribute(writing, &node->attributes[i], err) < 0) {
            return -1;
        }
    }
    return put_part(writing, GRAPH_NODE, err);
}

/* What was a Constant node stays one: it is not trained if the file is trained further. */
static int put_literal(struct writing *writing, int index, struct error *err) {
    const struct attribute value = {
        .name = "value", .kind = ATTRIBUTE_TENSOR, .tensor = constant_of(writing, index)};
    return put_text(&writing->part, NODE_OUTPUT, name_of(writing, index), err) < 0 ||
                   put_text(&writing->part, NODE_OP, "Constant", err) < 0 ||
                   put_attribute(writing, &value, err) < 0
               ? -1
               : put_part(writing, GRAPH_NODE, err);
}

static bool is_literal(const struct value *value) {
    return value->is_literal && !value->is_string;
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* Marks constants that a node reads or that are outputs of the graph. */
static bool *find_read(const struct graph *graph) {
    bool *is_read = x_calloc(graph->value_count + 1, sizeof *is_read);
    for (size_t i = 0; i < graph->node_count; i++) {
        for (int k = 0; k < graph->nodes[i].input_count; k++) {
            if (graph->nodes[i].inputs[k] >= 0) {
                is_read[graph->nodes[i].inputs[k]] = true;
            }
        }
    }
    for (size_t i = 0; i < graph->output_count; i++) {
        is_read[graph->outputs[i]] = true;
    }
    return is_read;
}

static int put_graph(struct writing *writing, const bool *is_read, struct error *err) {
    const struct graph *graph = writing->graph;
    int result = put_text(writing->to, GRAPH_NAME, "windlass", err);
    for (size_t i = 0; result == 0 && i < graph->value_count; i++) {
        const struct value *value = &graph->values[i];
        bool is_put = value->is_constant && is_read[i] && is_literal(value);
        result = is_put ? put_literal(writing, (int)i, err) : 0;
    }
    for (size_t i = 0; result == 0 && i < graph->node_count; i++) {
        result = put_node(writing, &graph->nodes[i], err);
    }
    for (size_t i = 0; result == 0 && i < graph->value_count; i++) {
        const struct value *value = &graph->values[i];
        bool is_put = value->is_constant && is_read[i] && !is_literal(value);
        result = is_put ? put_initializer(writing, (int)i, err) : 0;
    }
    for (size_t i = 0; result == 0 && i < graph->input_count; i++) {
        result = put_value(writing, GRAPH_INPUT, graph->inputs[i], err);
    }
    for (size_t i = 0; result == 0 && i < graph->output_count; i++) {
        result = put_value(writing, GRAPH_OUTPUT, graph->outputs[i], err);
    }
    return result;
}

/* An OperatorSetIdProto of each domain that the file uses; the standard one has no name. */
static int put_domains(struct writing *writing, struct buffer *file, struct error *err) {
    for (int i = 0; i < DOMAIN_COUNT; i++) {
        bool is_standard = i == DOMAIN_STANDARD;
        int64_t version = writing->versions.of[i];
        if (!version) {
            continue;
        }
        buffer_clear(&writing->part);
        if ((!is_standard &&
             put_text(&writing->part, OPSET_DOMAIN, domain_name((enum domain)i), err) < 0) ||
            put_integer(&writing->part, OPSET_VERSION, version, err) < 0 ||
            put_bytes(file, MODEL_OPSET, writing->part.data, writing->part.size, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* The format's version follows from that of the standard operators. */
static int ir_version(int opset) {
    return opset < 15   ? 7
           : opset < 19 ? 8
           : opset < 21 ? 9
           : opset < 24 ? 10
           : opset < 25 ? 12
           : opset < 28 ? 13
                        : 14;
}

int model_check_write(const struct graph *graph, int opset, struct error *err) {
    const struct write_options options = {.opset = opset};
    struct writing writing = {.graph = graph, .options = &options};
    bool *is_read = find_read(graph);
    int64_t bytes = 0;
    int result = 0;
    writing.versions.of[DOMAIN_STANDARD] = opset;
    for (size_t i = 0; i < graph->value_count; i++) {
        const struct value *value = &graph->values[i];
        bool is_put = value->is_constant && is_read[i];
        bytes += is_put ? shape_count(&value->shape) * (int64_t)tensor_type_size(value->type) : 0;
    }
    free(is_read);
    for (size_t n = 0; result == 0 && n < graph->node_count; n++) {
        const struct node *node = &graph->nodes[n];
        result = note_domain(&writing, node, domain_of_op(node->op), err);
        for (size_t i = 0; result == 0 && i < node->attribute_count; i++) {
            result = check_attribute(&node->attributes[i], err);
            result = result < 0
                         ? error_context(err, "%s node \"%.64s\"", node->op->name, node->name)
                         : 0;
        }
    }
    if (result == 0 && bytes >= (int64_t)WRITE_BYTES_MAX) {
        result = error_set(err, ERROR_UNSUPPORTED,
                           "it has %lld bytes of weights, and an ONNX file is written with less "
                           "than 2 GiB",
                           (long long)bytes);
    }
    return result;
}

int model_write(const struct graph *graph, const struct write_options *options,
                struct buffer *buffer, struct error *err) {
    AUTO(buffer_release) struct buffer body;
    struct writing writing = {.graph = graph, .options = options, .to = &body};
    buffer_init(&body, WRITE_BYTES_MAX);
    writing.versions.of[DOMAIN_STANDARD] = options->opset;
    buffer_init(&writing.part, WRITE_BYTES_MAX);
    buffer_init(&writing.inner, WRITE_BYTES_MAX);
    bool *is_read = find_read(graph);
    int result = put_graph(&writing, is_read, err);
    free(is_read);
    result = result < 0 || put_integer(buffer, MODEL_IR, ir_version(options->opset), err) < 0 ||
                     put_text(buffer, MODEL_PRODUCER, "windlass", err) < 0 ||
                     put_text(buffer, MODEL_VERSION, WINDLASS_VERSION, err) < 0 ||
                     put_bytes(buffer, MODEL_GRAPH, body.data, body.size, err) < 0 ||
                     put_domains(&writing, buffer, err) < 0
                 ? -1
                 : 0;
    buffer_release(&writing.part);
    buffer_release(&writing.inner);
    return result;
}
