// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/ml/ml_ensemble.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MEMBER = ENSEMBLE_LEAF /* in the file */ };
enum { NODES_MAX = 1 << 26, UNFOLDED_SPARE = 1 << 20, UNFOLDED_TIMES = 8 };

/* The attributes. */
struct ensemble {
    size_t nodes, leaves, roots;
    const int64_t *features, *yes, *no, *yes_leaf, *no_leaf, *missing, *targets, *root;
    const uint8_t *modes;
    const float *splits, *weights, *members;
    size_t member_count;
    size_t *sets; /* of each node: where its members begin */
};

/* What is to be appended: a node or a leaf of the file, as the child of a row. */
struct task {
    int64_t index;
    bool is_leaf;
    size_t parent; /* row; SIZE_MAX: a root */
    bool is_yes;
};

struct unfold {
    const struct ensemble *from;
    struct ensemble_lists *to;
    struct task *tasks;
    size_t task_count, room, first; /* rows that fit; the first row of this tree */
    int64_t tree;
};

bool ml_is_ensemble(const struct node *node) {
    return strcmp(node->op->name, "TreeEnsemble") == 0;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static int wrong_count(const char *name, size_t count, size_t wanted, struct error *err) {
    return error_set(err, ERROR_INVALID, "attribute \"%s\" has %zu entries, %zu are expected", name,
                     count, wanted);
}

static int read_integers(const struct node *node, const char *name, size_t wanted,
                         const int64_t **ret_values, struct error *err) {
    size_t count;
    *ret_values = node_integers(node, name, &count);
    return count == wanted ? 0 : wrong_count(name, count, wanted, err);
}

/* The elements of an attribute that is a tensor. wanted: how many it must have; SIZE_MAX: any. */
struct elements {
    const char *name;
    enum tensor_type type;
    size_t wanted;
};

static int read_tensor(const struct node *node, const struct elements *elements,
                       const void **ret_data, size_t *ret_count, struct error *err) {
    const char *name = elements->name;
    enum tensor_type type = elements->type;
    size_t wanted = elements->wanted;
    const struct attribute *attribute = node_attribute(node, name);
    size_t count = attribute ? (size_t)shape_count(&attribute->tensor.shape) : 0;
    if (attribute && attribute->tensor.type != type) {
        return error_set(err, ERROR_UNSUPPORTED, "attribute \"%s\" is %s, only %s is supported",
                         name, tensor_type_name(attribute->tensor.type), tensor_type_name(type));
    }
    *ret_data = attribute ? attribute->tensor.data : NULL;
    *ret_count = count;
    return wanted == SIZE_MAX || count == wanted ? 0 : wrong_count(name, count, wanted, err);
}

/* Where the set of each MEMBER node begins: they follow each other, each behind a NaN. */
static int find_sets(struct ensemble *ensemble, struct error *err) {
    size_t at = 0, count = ensemble->member_count;
    ensemble->sets = x_calloc(ensemble->nodes, sizeof *ensemble->sets);
    for (size_t i = 0; i < ensemble->nodes; i++) {
        if (ensemble->modes[i] != MEMBER) {
            continue;
        }
        ensemble->sets[i] = at;
        if (at >= count || isnan(ensemble->members[at])) {
            return error_set(err, ERROR_INVALID,
                             "node %zu: attribute \"membership_values\" has no set for it", i);
        }
        while (at < count && !isnan(ensemble->members[at])) {
            at++;
        }
        at++;
    }
    return 0;
}

static int read_nodes(const struct node *node, struct ensemble *ensemble, struct error *err) {
    const void *modes, *splits;
    size_t ignored, nodes;
    ensemble->features = node_integers(node, "nodes_featureids", &nodes);
    ensemble->nodes = nodes;
    if (nodes == 0 || nodes > NODES_MAX) {
        return error_set(err, ERROR_INVALID,
                         "attribute \"nodes_featureids\" has %zu entries, 1 to %d are expected",
                         nodes, NODES_MAX);
    }
    if (read_integers(node, "nodes_truenodeids", nodes, &ensemble->yes, err) < 0 ||
        read_integers(node, "nodes_falsenodeids", nodes, &ensemble->no, err) < 0 ||
        read_integers(node, "nodes_trueleafs", nodes, &ensemble->yes_leaf, err) < 0 ||
        read_integers(node, "nodes_falseleafs", nodes, &ensemble->no_leaf, err) < 0 ||
        read_tensor(node, &(struct elements){"nodes_modes", TENSOR_UINT8, nodes}, &modes, &ignored,
                    err) < 0 ||
        read_tensor(node, &(struct elements){"nodes_splits", TENSOR_FLOAT32, nodes}, &splits,
                    &ignored, err) < 0) {
        return -1;
    }
    ensemble->modes = modes;
    ensemble->splits = splits;
    return node_attribute(node, "nodes_missing_value_tracks_true")
               ? read_integers(node, "nodes_missing_value_tracks_true", nodes, &ensemble->missing,
                               err)
               : 0;
}

/* The standard's 1 is SOFTMAX and 2 LOGISTIC; ONNX Runtime (1.30) has them the other way round. */
static int check_post(const struct node *node, struct error *err) {
    int64_t post = node_integer(node, "post_transform", 0);
    return post != 1 && post != 2
               ? 0
               : error_set(
                     err, ERROR_UNSUPPORTED,
                     "attribute \"post_transform\" is %lld, which is %s to the standard and "
                     "%s to ONNX Runtime; 0 and a node Softmax or Sigmoid behind are expected",
                     (long long)post, post == 1 ? "softmax" : "logistic",
                     post == 1 ? "logistic" : "softmax");
}

static int read_ensemble(const struct node *node, struct ensemble *ensemble, struct error *err) {
    const void *weights, *members;
    size_t ignored;
    if (check_post(node, err) < 0) {
        return -1;
    }
    ensemble->targets = node_integers(node, "leaf_targetids", &ensemble->leaves);
    ensemble->root = node_integers(node, "tree_roots", &ensemble->roots);
    if (ensemble->leaves == 0 || ensemble->leaves > NODES_MAX || ensemble->roots == 0) {
        return error_set(err, ERROR_INVALID,
                         "attributes \"leaf_targetids\" and \"tree_roots\" have %zu and %zu "
                         "entries, at least one of each is expected",
                         ensemble->leaves, ensemble->roots);
    }
    if (read_nodes(node, ensemble, err) < 0 ||
        read_tensor(node, &(struct elements){"leaf_weights", TENSOR_FLOAT32, ensemble->leaves},
                    &weights, &ignored, err) < 0 ||
        read_tensor(node, &(struct elements){"membership_values", TENSOR_FLOAT32, SIZE_MAX},
                    &members, &ensemble->member_count, err) < 0) {
        return -1;
    }
    ensemble->weights = weights;
    ensemble->members = members;
    return find_sets(ensemble, err);
}

/* ---- unfolding ------------------------------------------------------------------------------- */

static int add_row(struct unfold *unfold, uint8_t mode, size_t *ret_row, struct error *err) {
    struct ensemble_lists *to = unfold->to;
    if (to->nodes == unfold->room) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "more than %zu nodes when sets and shared branches are unfolded, or a "
                         "branch that leads to itself",
                         unfold->room);
    }
    size_t row = to->nodes++;
    to->trees[row] = unfold->tree;
    to->ids[row] = (int64_t)(row - unfold->first);
    to->modes[row] = mode;
    *ret_row = row;
    return 0;
}

static void add_task(struct unfold *unfold, size_t node, size_t parent, bool is_yes) {
    const struct ensemble *from = unfold->from;
    unfold->tasks[unfold->task_count++] =
        (struct task){.index = is_yes ? from->yes[node] : from->no[node],
                      .is_leaf = (is_yes ? from->yes_leaf[node] : from->no_leaf[node]) != 0,
                      .parent = parent,
                      .is_yes = is_yes};
}

static int add_leaf(struct unfold *unfold, int64_t leaf, size_t *ret_row, struct error *err) {
    struct ensemble_lists *to = unfold->to;
    if (add_row(unfold, ENSEMBLE_LEAF, ret_row, err) < 0) {
        return -1;
    }
    size_t weight = to->weights++;
    to->weight_trees[weight] = unfold->tree;
    to->weight_ids[weight] = to->ids[*ret_row];
    to->weight_targets[weight] = unfold->from->targets[leaf];
    to->weight_values[weight] = (double)unfold->from->weights[leaf];
    return 0;
}

/* A test of one member after the other: each leads to the same branch, or on to the next. */
static int add_members(struct unfold *unfold, size_t node, size_t *ret_row, struct error *err) {
    const struct ensemble *from = unfold->from;
    struct ensemble_lists *to = unfold->to;
    size_t at = from->sets[node], row = 0, before = SIZE_MAX;
    for (; at < from->member_count && !isnan(from->members[at]); at++, before = row) {
        if (add_row(unfold, ENSEMBLE_EQ, &row, err) < 0) {
            return -1;
        }
        to->features[row] = from->features[node];
        to->values[row] = (double)from->members[at];
        to->missing[row] = from->missing ? from->missing[node] : 0;
        add_task(unfold, node, row, true);
        if (before == SIZE_MAX) {
            *ret_row = row;
        } else {
            to->no[before] = to->ids[row];
        }
    }
    add_task(unfold, node, row, false);
    return 0;
}

static int add_node(struct unfold *unfold, size_t node, size_t *ret_row, struct error *err) {
    const struct ensemble *from = unfold->from;
    struct ensemble_lists *to = unfold->to;
    if (from->modes[node] > MEMBER) {
        return error_set(err, ERROR_UNSUPPORTED, "node %zu: mode %d is not known", node,
                         from->modes[node]);
    }
    if (from->modes[node] == MEMBER) {
        return add_members(unfold, node, ret_row, err);
    }
    if (add_row(unfold, from->modes[node], ret_row, err) < 0) {
        return -1;
    }
    to->features[*ret_row] = from->features[node];
    to->values[*ret_row] = (double)from->splits[node];
    to->missing[*ret_row] = from->missing ? from->missing[node] : 0;
    add_task(unfold, node, *ret_row, true);
    add_task(unfold, node, *ret_row, false);
    return 0;
}

static int do_task(struct unfold *unfold, const struct task *task, struct error *err) {
    const struct ensemble *from = unfold->from;
    size_t row = 0, count = task->is_leaf ? from->leaves : from->nodes;
    if (task->index < 0 || (size_t)task->index >= count) {
        return error_set(err, ERROR_INVALID, "tree %lld: there is no %s %lld of %zu",
                         (long long)unfold->tree, task->is_leaf ? "leaf" : "node",
                         (long long)task->index, count);
    }
    int result = task->is_leaf ? add_leaf(unfold, task->index, &row, err)
                               : add_node(unfold, (size_t)task->index, &row, err);
    if (result == 0 && task->parent != SIZE_MAX) {
        int64_t *child = task->is_yes ? unfold->to->yes : unfold->to->no;
        child[task->parent] = unfold->to->ids[row];
    }
    return result;
}

static void make_room(struct ensemble_lists *lists, size_t room) {
    int64_t **const integers[] = {&lists->trees,        &lists->ids,        &lists->features,
                                  &lists->yes,          &lists->no,         &lists->missing,
                                  &lists->weight_trees, &lists->weight_ids, &lists->weight_targets};
    for (size_t i = 0; i < ARRAY_LEN(integers); i++) {
        *integers[i] = x_calloc(room, sizeof **integers[i]);
    }
    lists->modes = x_calloc(room, sizeof *lists->modes);
    lists->values = x_calloc(room, sizeof *lists->values);
    lists->weight_values = x_calloc(room, sizeof *lists->weight_values);
}

/* Rows that are enough without sets: each leaf is one for each branch that leads to it. */
static size_t count_rows(const struct ensemble *ensemble) {
    size_t plain = 2 * ensemble->nodes + ensemble->roots, more = ensemble->member_count;
    return more == 0 ? plain : UNFOLDED_TIMES * (plain + more) + UNFOLDED_SPARE;
}

int ensemble_lists_read(const struct node *node, struct ensemble_lists *ret_lists,
                        struct error *err) {
    struct ensemble ensemble = {0};
    *ret_lists = (struct ensemble_lists){0};
    int result = read_ensemble(node, &ensemble, err);
    struct unfold unfold = {.from = &ensemble, .to = ret_lists, .room = count_rows(&ensemble)};
    if (result == 0) {
        make_room(ret_lists, unfold.room);
        unfold.tasks = x_calloc(2 * unfold.room + 1, sizeof *unfold.tasks);
    }
    for (size_t t = 0; result == 0 && t < ensemble.roots; t++) {
        unfold.tree = (int64_t)t;
        unfold.first = ret_lists->nodes;
        unfold.tasks[unfold.task_count++] =
            (struct task){.index = ensemble.root[t], .parent = SIZE_MAX};
        while (result == 0 && unfold.task_count > 0) {
            struct task task = unfold.tasks[--unfold.task_count];
            result = do_task(&unfold, &task, err);
        }
    }
    free(unfold.tasks);
    free(ensemble.sets);
    if (result < 0) {
        ensemble_lists_release(ret_lists);
    }
    return result;
}

void ensemble_lists_release(struct ensemble_lists *lists) {
    free(lists->trees);
    free(lists->ids);
    free(lists->features);
    free(lists->yes);
    free(lists->no);
    free(lists->missing);
    free(lists->modes);
    free(lists->values);
    free(lists->weight_trees);
    free(lists->weight_ids);
    free(lists->weight_targets);
    free(lists->weight_values);
    *lists = (struct ensemble_lists){0};
}
