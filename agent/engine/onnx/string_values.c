// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/onnx/string_values.h"

#include "agent/engine/graph/node.h"
#include "agent/engine/graph/string_table.h"
#include "agent/engine/onnx/tensor_proto.h"
#include "agent/engine/ops/table.h"

#include <stdlib.h>
#include <string.h>

enum {
    CLASSES_MAX = 1 << 16,
    STEPS_MAX = 8, /* between a classifier and the graph's output */
};

/* The names of a list of strings and of the same list as numbers. A classifier with both uses its
 * strings. */
static const struct {
    int op;
    const char *strings, *numbers;
    bool is_either; /* an encoder has one of the two */
} lists[] = {
    {OP_ML_ONE_HOT_ENCODER, "cats_strings", "cats_int64s", true},
    {OP_ML_LABEL_ENCODER, "keys_strings", "keys_int64s", true},
    {OP_ML_LABEL_ENCODER, "values_strings", "values_int64s", true},
    {OP_ML_LINEAR_CLASSIFIER, "classlabels_strings", "classlabels_ints", false},
    {OP_ML_SVM_CLASSIFIER, "classlabels_strings", "classlabels_ints", false},
    {OP_ML_TREE_ENSEMBLE_CLASSIFIER, "classlabels_strings", "classlabels_int64s", false},
};

bool string_values_has(const struct node *node, const char *name) {
    const struct attribute *attribute = node_attribute(node, name);
    return attribute && attribute->count;
}

static int64_t number_of(struct graph *graph, const char *bytes, size_t size) {
    if (!graph->strings) {
        graph->strings = string_table_new(&graph->arena);
    }
    return string_table_add(graph->strings, bytes, size);
}

/* ---- constants ------------------------------------------------------------------------------ */

enum constant_field { FIELD_DIMS = 1, FIELD_TYPE = 2, FIELD_STRINGS = 6, FIELD_NAME = 8 };

bool string_values_is_constant(struct protobuf message) {
    struct error ignored = {0};
    struct protobuf_field field;
    bool is = false;
    while (protobuf_next(&message, &field, &ignored) > 0) {
        is = field.number == FIELD_TYPE ? field.integer == TENSOR_PROTO_TEXT : is;
    }
    return is;
}

static int add_dims(struct shape *shape, const struct protobuf_field *field, struct error *err) {
    struct protobuf packed = field->bytes;
    bool is_packed = field->type == PROTOBUF_BYTES;
    while (!is_packed || packed.at != packed.end) {
        uint64_t size = field->integer;
        if (is_packed && protobuf_varint(&packed, &size, err) < 0) {
            return -1;
        }
        if (shape->rank == TENSOR_RANK_MAX || (int64_t)size < 0) {
            return error_set(err, ERROR_INVALID, "its dimensions are invalid");
        }
        shape->dims[shape->rank++] = (int64_t)size;
        if (!is_packed) {
            break;
        }
    }
    return 0;
}

/* Reads shape, name and the number of strings. */
static int measure(struct protobuf message, struct tensor *tensor, struct protobuf *ret_name,
                   int64_t *ret_count, struct error *err) {
    struct protobuf_field field;
    int more;
    while ((more = protobuf_next(&message, &field, err)) > 0) {
        bool is_bytes = field.type == PROTOBUF_BYTES;
        if ((field.number == FIELD_STRINGS || field.number == FIELD_NAME) && !is_bytes) {
            return error_set(err, ERROR_INVALID, "field %u of a tensor is not a string",
                             field.number);
        }
        *ret_count += field.number == FIELD_STRINGS;
        *ret_name = field.number == FIELD_NAME ? field.bytes : *ret_name;
        if (field.number == FIELD_DIMS && add_dims(&tensor->shape, &field, err) < 0) {
            return -1;
        }
    }
    return more;
}

int string_values_constant(struct graph *graph, struct protobuf message, struct tensor *ret_tensor,
                           struct protobuf *ret_name, struct error *err) {
    struct tensor tensor = {.type = TENSOR_INT64};
    struct protobuf rest = message;
    struct protobuf_field field;
    int64_t count = 0, at = 0;
    if (measure(message, &tensor, ret_name, &count, err) < 0) {
        return -1;
    }
    if (count != shape_count(&tensor.shape)) {
        char text[128];
        shape_format(&tensor.shape, text);
        return error_set(err, ERROR_INVALID, "%lld strings, expected as many as shape %s has",
                         (long long)count, text);
    }
    int64_t *numbers = tensor.data = arena_array(&graph->arena, (size_t)count, sizeof *numbers);
    while (protobuf_next(&rest, &field, err) > 0) {
        if (field.number == FIELD_STRINGS) {
            numbers[at++] =
                number_of(graph, (const char *)field.bytes.at, protobuf_size(field.bytes));
        }
    }
    *ret_tensor = tensor;
    return 0;
}

static bool is_string(const struct graph *graph, const struct node *node, int input) {
    return node->inputs[input] >= 0 && graph->values[node->inputs[input]].is_string;
}

/* ---- lists ---------------------------------------------------------------------------------- */

/* Replaces the attribute of this name, or appends it. */
static void put(struct graph *graph, struct node *node, const struct attribute *attribute) {
    struct attribute *all =
        arena_array(&graph->arena, node->attribute_count + 1, sizeof *node->attributes);
    size_t at = 0;
    if (node->attribute_count) {
        memcpy(all, node->attributes, node->attribute_count * sizeof *all);
    }
    while (at < node->attribute_count && strcmp(all[at].name, attribute->name) != 0) {
        at++;
    }
    all[at] = *attribute;
    node->attribute_count = MAX(node->attribute_count, at + 1);
    node->attributes = all;
}

static void put_list(struct graph *graph, struct node *node, const struct attribute *strings,
                     const char *name) {
    int64_t *numbers = arena_array(&graph->arena, strings->count, sizeof *numbers);
    for (size_t i = 0; i < strings->count; i++) {
        numbers[i] = number_of(graph, strings->strings[i].bytes, strings->strings[i].size);
    }
    const struct attribute list = {.name = name,
                                   .kind = ATTRIBUTE_INTEGERS,
                                   .text = "",
                                   .count = strings->count,
                                   .integers = numbers};
    put(graph, node, &list);
}

/* ---- encoders of other versions ------------------------------------------------------------- */

/* The same attribute under another name; nothing if the node lacks it. */
static void put_as(struct graph *graph, struct node *node, const char *from, const char *to) {
    const struct attribute *found = node_attribute(node, from);
    struct attribute copy = found ? *found : (struct attribute){0};
    copy.name = to;
    if (found) {
        put(graph, node, &copy);
    }
}

/* 0, 1, 2, ...: as many as the node has classes. */
static void put_places(struct graph *graph, struct node *node, const char *name) {
    size_t count = node_attribute(node, "classes_strings")->count;
    int64_t *places = arena_array(&graph->arena, count, sizeof *places);
    for (size_t i = 0; i < count; i++) {
        places[i] = (int64_t)i;
    }
    const struct attribute list = {
        .name = name, .kind = ATTRIBUTE_INTEGERS, .text = "", .count = count, .integers = places};
    put(graph, node, &list);
}

/* A tensor's elements as the list, or if it is the default as the number, of their type. */
static int put_elements(struct graph *graph, struct node *node, const char *from,
                        const char *numbers, const char *integers, struct error *err) {
    const struct attribute *found = node_attribute(node, from);
    if (!found || found->kind != ATTRIBUTE_TENSOR) {
        return 0; /* node_check refuses another kind */
    }
    const struct tensor *tensor = &found->tensor;
    bool is_float = tensor->type == TENSOR_FLOAT32, is_default = strstr(from, "default") != NULL;
    struct attribute put_it = {.name = is_float ? numbers : integers,
                               .kind = is_float ? ATTRIBUTE_NUMBERS : ATTRIBUTE_INTEGERS,
                               .text = "",
                               .count = (size_t)shape_count(&tensor->shape),
                               .numbers = is_float ? tensor->data : NULL,
                               .integers = is_float ? NULL : tensor->data};
    if (!is_float && tensor->type != TENSOR_INT64) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "attribute \"%s\" is %s, only float32 and int64 are supported", from,
                         tensor_type_name(tensor->type));
    }
    if (is_default) {
        if (put_it.count != 1) {
            return error_set(err, ERROR_INVALID, "attribute \"%s\" has %zu elements, 1 is expected",
                             from, put_it.count);
        }
        put_it.kind = is_float ? ATTRIBUTE_NUMBER : ATTRIBUTE_INTEGER;
        put_it.number = is_float ? put_it.numbers[0] : 0;
        put_it.integer = is_float ? 0 : put_it.integers[0];
    }
    put(graph, node, &put_it);
    return 0;
}

/* Lists as LabelEncoder of version 2 has them, for CategoryMapper, for version 1, which both work
 * from strings to numbers or back, and for the tensors of version 4. */
static int put_encoder(struct graph *graph, struct node *node, struct error *err) {
    bool reads = node->input_count && is_string(graph, node, 0);
    if (string_values_has(node, "cats_strings")) {
        put_as(graph, node, "cats_strings", reads ? "keys_strings" : "values_strings");
        put_as(graph, node, "cats_int64s", reads ? "values_int64s" : "keys_int64s");
    } else if (string_values_has(node, "classes_strings")) {
        put_as(graph, node, "classes_strings", reads ? "keys_strings" : "values_strings");
        put_places(graph, node, reads ? "values_int64s" : "keys_int64s");
    }
    return put_elements(graph, node, "keys_tensor", "keys_floats", "keys_int64s", err) < 0 ||
                   put_elements(graph, node, "values_tensor", "values_floats", "values_int64s",
                                err) < 0 ||
                   put_elements(graph, node, "default_tensor", "default_float", "default_int64",
                                err) < 0
               ? -1
               : 0;
}

int string_values_attributes(struct graph *graph, struct node *node, struct error *err) {
    if (node->op->id == OP_ML_LABEL_ENCODER && put_encoder(graph, node, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const struct attribute *strings = node_attribute(node, lists[i].strings);
        if (node->op->id != lists[i].op || !strings || strings->kind != ATTRIBUTE_STRINGS ||
            !strings->count) {
            continue;
        }
        if (lists[i].is_either && string_values_has(node, lists[i].numbers)) {
            return error_set(err, ERROR_INVALID,
                             "attributes \"%s\" and \"%s\": one of them is expected",
                             lists[i].strings, lists[i].numbers);
        }
        put_list(graph, node, strings, lists[i].numbers);
    }
    if (node->op->id == OP_ML_LABEL_ENCODER && string_values_has(node, "values_strings")) {
        const char *other = node_text(node, "default_string", "_Unused");
        const struct attribute number = {.name = "default_int64",
                                         .kind = ATTRIBUTE_INTEGER,
                                         .text = "",
                                         .integer = number_of(graph, other, strlen(other))};
        put(graph, node, &number);
    }
    return 0;
}

/* ---- readers and makers --------------------------------------------------------------------- */

/* Operators that move values without reading them; the first input (each input of Concat) is
 * moved. */
static bool is_move(const struct node *node) {
    static const int moves[] = {OP_CONCAT,
                                OP_FLATTEN,
                                OP_GATHER,
                                OP_IDENTITY,
                                OP_RESHAPE,
                                OP_SLICE,
                                OP_SPLIT,
                                OP_SQUEEZE,
                                OP_TILE,
                                OP_EXPAND,
                                OP_TRANSPOSE,
                                OP_UNSQUEEZE,
                                OP_ML_ARRAY_FEATURE_EXTRACTOR};
    for (size_t i = 0; i < ARRAY_LEN(moves); i++) {
        if (node->op->id == moves[i]) {
            return node->op->id != OP_IDENTITY || !(node->op->flags & OP_ML); /* ZipMap */
        }
    }
    return false;
}

static bool looks_up(const struct node *node) {
    return (node->op->id == OP_ML_ONE_HOT_ENCODER && string_values_has(node, "cats_strings")) ||
           (node->op->id == OP_ML_LABEL_ENCODER && string_values_has(node, "keys_strings"));
}

int string_values_node(struct graph *graph, const struct node *node, struct error *err) {
    bool moves = is_move(node), finds = looks_up(node);
    bool joins = node->op->id == OP_CONCAT, first = node->input_count && is_string(graph, node, 0);
    for (int i = 0; i < node->input_count; i++) {
        bool is = is_string(graph, node, i);
        const char *name = node->inputs[i] < 0 ? "" : graph->values[node->inputs[i]].name;
        if (is && !finds && !(moves && (i == 0 || joins))) {
            return error_set(err, ERROR_UNSUPPORTED,
                             "it reads \"%.64s\", which is strings: only OneHotEncoder with "
                             "cats_strings, LabelEncoder with keys_strings and what moves values "
                             "can",
                             name);
        }
        if (is != first ? joins : !is && finds) {
            return error_set(err, ERROR_INVALID, "it reads \"%.64s\", %s are expected there", name,
                             is ? "numbers" : "strings");
        }
    }
    bool is_classifier = (node->op->flags & OP_ML) && node->op->id != OP_IDENTITY &&
                         string_values_has(node, "classlabels_strings");
    for (int i = 0; i < node->output_count; i++) {
        bool makes =
            (moves && first) || (is_classifier && i == 0) ||
            (node->op->id == OP_ML_LABEL_ENCODER && string_values_has(node, "values_strings"));
        if (node->outputs[i] >= 0) {
            graph->values[node->outputs[i]].is_string = makes;
        }
    }
    return 0;
}

/* ---- classes -------------------------------------------------------------------------------- */

static const struct node *maker_of(const struct graph *graph, int value, int *ret_output) {
    for (size_t i = 0; i < graph->node_count; i++) {
        for (int k = 0; k < graph->nodes[i].output_count; k++) {
            if (graph->nodes[i].outputs[k] == value) {
                *ret_output = k;
                return &graph->nodes[i];
            }
        }
    }
    return NULL;
}

/* An SVM without probabilities has a score for each pair of classes, not for each class. */
static bool has_pairs(const struct node *node) {
    return node->op->id == OP_ML_SVM_CLASSIFIER && !string_values_has(node, "prob_a");
}

/* The node that has the names of this value's columns. */
static const struct node *namer_of(const struct graph *graph, int value) {
    int output = 0;
    const struct node *node = maker_of(graph, value, &output);
    for (int steps = 0; node && node->input_count && steps < STEPS_MAX; steps++) {
        bool is_scores = node->op->id == OP_ML_LINEAR_CLASSIFIER ||
                         node->op->id == OP_ML_SVM_CLASSIFIER ||
                         node->op->id == OP_ML_TREE_ENSEMBLE_CLASSIFIER;
        if (is_scores) {
            return output == 1 && !has_pairs(node) ? node : NULL;
        }
        if (node->op->id != OP_IDENTITY && node->op->id != OP_CAST &&
            node->op->id != OP_ML_NORMALIZER) {
            return NULL;
        }
        if (string_values_has(node, "classlabels_strings") ||
            string_values_has(node, "classlabels_int64s")) {
            return node; /* ZipMap */
        }
        node = maker_of(graph, node->inputs[0], &output);
    }
    return NULL;
}

char **string_values_classes(const struct graph *graph, int value, size_t *ret_count) {
    const struct node *node = namer_of(graph, value);
    const struct attribute *strings = node ? node_attribute(node, "classlabels_strings") : NULL;
    size_t count = 0, in_order = 0;
    const int64_t *numbers = node ? node_integers(node, "classlabels_int64s", &count) : NULL;
    if (node && !count) {
        numbers = node_integers(node, "classlabels_ints", &count);
    }
    bool has_strings = strings && strings->count;
    count = MIN(has_strings ? strings->count : count, CLASSES_MAX);
    while (!has_strings && in_order < count && numbers[in_order] == (int64_t)in_order) {
        in_order++;
    }
    if (count == 0 || (!has_strings && in_order == count)) {
        return NULL;
    }
    char **names = x_calloc(count, sizeof *names);
    for (size_t i = 0; i < count; i++) {
        names[i] = has_strings ? x_strndup(strings->strings[i].bytes, strings->strings[i].size)
                               : x_printf("%lld", (long long)numbers[i]);
    }
    *ret_count = count;
    return names;
}

void string_values_classes_free(char **names, size_t count) {
    for (size_t i = 0; names && i < count; i++) {
        free(names[i]);
    }
    free(names);
}
