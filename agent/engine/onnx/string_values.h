/* string_values.h: converts the strings of a classical model to indices into graph->strings while
 * the file is read: string inputs, the categories of OneHotEncoder, keys and values of
 * LabelEncoder, labels of classifiers, constants. A list of strings stays in the node, and a list
 * of numbers, which the kernels read, is added. Nodes may move strings (Concat, Reshape,
 * ArrayFeatureExtractor and others), and these encoders may look them up; a model with any other
 * node that reads strings is refused, and the error names the operator. Used by graph_proto.c and
 * engine/run/session.c. */
#pragma once

#include "agent/engine/graph.h"
#include "agent/engine/onnx/protobuf.h"

/* Whether the message is a TensorProto of strings, such as the classes from which
 * ArrayFeatureExtractor picks a label. It is read as int64 indices into graph->strings,
 * allocated in the graph's arena. */
bool string_values_is_constant(struct protobuf message);
NODISCARD int string_values_constant(struct graph *graph, struct protobuf message,
                                     struct tensor *ret_tensor, struct protobuf *ret_name,
                                     struct error *err);

/* Converts the attributes of a node after they were read, before they are checked. INVALID: the
 * node has both a list of strings and a list of numbers. */
NODISCARD int string_values_attributes(struct graph *graph, struct node *node, struct error *err);
/* Marks the outputs of the same node that are strings, after it was checked. UNSUPPORTED: its
 * operator cannot read strings. */
NODISCARD int string_values_node(struct graph *graph, const struct node *node, struct error *err);

/* Whether the node has a list with this name that is not empty. */
bool string_values_has(const struct node *node, const char *name);

/* The names of the columns if this value is the scores of a classifier (directly, or after
 * Normalizer, Cast or ZipMap): *ret_count of them; the caller frees the array and each name. NULL:
 * it is not, or its classes are 0, 1, 2, ... like the columns. */
char **string_values_classes(const struct graph *graph, int value, size_t *ret_count);
void string_values_classes_free(char **names, size_t count);
