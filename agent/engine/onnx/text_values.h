/* text_values.h: where a classical model has texts they become numbers of graph->texts as the file
 * is read: its inputs of texts, the categories of OneHotEncoder, keys and values of LabelEncoder,
 * the labels of classifiers, constants. A list of texts stays, and the list of numbers that the
 * kernels read is beside it. Texts may be moved (Concat, Reshape, ArrayFeatureExtractor, ...)
 * and be looked up by these encoders; any other reader is refused by name. Used by
 * graph_proto.c and engine/run/session.c. */
#pragma once

#include "agent/engine/graph.h"
#include "agent/engine/onnx/protobuf.h"

/* A TensorProto of texts, such as the classes that ArrayFeatureExtractor picks a label of: int64,
 * their numbers, in the graph's arena. False: it is of another type. */
bool text_values_is_constant(struct wire message);
NODISCARD int text_values_constant(struct graph *graph, struct wire message,
                                   struct tensor *ret_tensor, struct wire *ret_name,
                                   struct error *err);

/* Of a node whose attributes are read, before anybody checks them. INVALID: it has a list both of
 * texts and of numbers. */
NODISCARD int text_values_attributes(struct graph *graph, struct node *node, struct error *err);
/* Of the same node, checked: which of its outputs are texts. UNSUPPORTED: it reads texts. */
NODISCARD int text_values_node(struct graph *graph, const struct node *node, struct error *err);

/* Whether the list of this name is a node's and has entries. */
bool text_values_has(const struct node *node, const char *name);

/* The names of the columns of a classifier's scores, where this value is these (as they are, behind
 * Normalizer, Cast or ZipMap): *ret_count of them, heap, each too. NULL: it is not, or its classes
 * are 0, 1, 2 ... as the columns are. */
char **text_values_classes(const struct graph *graph, int value, size_t *ret_count);
void text_values_classes_free(char **names, size_t count);
