// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/ml/ml_tree.h"

#include "agent/engine/ops/ml/ml_ensemble.h"
#include "agent/engine/ops/op_id.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = 1 << 28, FEATURES_MAX = 1 << 24 };

/* The lists of the file, with one entry per node or per weight. */
struct source {
    size_t nodes, weights;
    const int64_t *trees, *ids, *features, *yes, *no;
    const int64_t *missing; /* NULL: no node sends NaN to its true child */
    const struct attribute_string *modes;
    const struct attribute *values;
    const int64_t *weight_trees, *weight_ids, *weight_targets;
    const struct attribute *weight_values;
    bool is_classifier;
    struct ensemble_lists own; /* of TreeEnsemble: instead of modes, values and weight_values */
};

/* The key of a node in the file, by which nodes are sorted. */
struct place {
    int64_t tree, id;
    int32_t row;      /* in the lists */
    int32_t child[2]; /* places; -1: a leaf */
    int32_t node;     /* in the result */
    bool is_child;
};

struct build {
    struct source source;
    struct place *places;
    struct ml_trees *trees;
    int32_t *queue;
};

/* ---- the lists ------------------------------------------------------------------------------- */

/* A list of numbers, or from version 3 on a tensor NAME_as_tensor; NULL: neither. */
static const struct attribute *find_numbers(const struct node *node, const char *name) {
    char tensor[64];
    snprintf(tensor, sizeof tensor, "%s_as_tensor", name);
    const struct attribute *attribute = node_attribute(node, tensor);
    return attribute ? attribute : node_attribute(node, name);
}

static size_t number_count(const struct attribute *attribute) {
    return !attribute                             ? 0
           : attribute->kind == ATTRIBUTE_NUMBERS ? attribute->count
                                                  : (size_t)shape_count(&attribute->tensor.shape);
}

static double number_at(const struct attribute *attribute, size_t index) {
    return attribute->kind == ATTRIBUTE_NUMBERS ? (double)attribute->numbers[index]
                                                : tensor_number(&attribute->tensor, (int64_t)index);
}

static double value_at(const struct source *source, size_t row) {
    return source->own.values ? source->own.values[row] : number_at(source->values, row);
}

static double weight_at(const struct source *source, size_t i) {
    return source->own.weight_values ? source->own.weight_values[i]
                                     : number_at(source->weight_values, i);
}

static int check_numbers(const struct attribute *attribute, const char *name, size_t wanted,
                         struct error *err) {
    if (attribute && attribute->kind == ATTRIBUTE_TENSOR &&
        attribute->tensor.type != TENSOR_FLOAT32 && attribute->tensor.type != TENSOR_FLOAT64) {
        return error_set(err, ERROR_INVALID,
                         "attribute \"%s_as_tensor\" is %s, floats are expected", name,
                         tensor_type_name(attribute->tensor.type));
    }
    return number_count(attribute) == wanted
               ? 0
               : error_set(err, ERROR_INVALID, "attribute \"%s\" has %zu entries, %zu are expected",
                           name, number_count(attribute), wanted);
}

/* wanted SIZE_MAX: any. */
static int read_integers(const struct node *node, const char *name, size_t wanted,
                         const int64_t **ret_values, size_t *ret_count, struct error *err) {
    size_t count;
    *ret_values = node_integers(node, name, &count);
    if (wanted != SIZE_MAX && count != wanted) {
        return error_set(err, ERROR_INVALID, "attribute \"%s\" has %zu entries, %zu are expected",
                         name, count, wanted);
    }
    if (ret_count) {
        *ret_count = count;
    }
    return 0;
}

static int read_nodes(const struct node *node, struct source *source, struct error *err) {
    const struct attribute *modes = node_attribute(node, "nodes_modes");
    const struct attribute *missing = node_attribute(node, "nodes_missing_value_tracks_true");
    if (read_integers(node, "nodes_treeids", SIZE_MAX, &source->trees, &source->nodes, err) < 0) {
        return -1;
    }
    size_t nodes = source->nodes;
    if (nodes == 0 || nodes > NODES_MAX) {
        return error_set(err, ERROR_INVALID,
                         "attribute \"nodes_treeids\" has %zu entries, 1 to %d are expected", nodes,
                         NODES_MAX);
    }
    if ((modes ? modes->count : 0) != nodes) {
        return error_set(err, ERROR_INVALID,
                         "attribute \"nodes_modes\" has %zu entries, %zu are expected",
                         modes ? modes->count : 0, nodes);
    }
    source->modes = modes->strings;
    source->values = find_numbers(node, "nodes_values");
    return read_integers(node, "nodes_nodeids", nodes, &source->ids, NULL, err) < 0 ||
                   read_integers(node, "nodes_featureids", nodes, &source->features, NULL, err) <
                       0 ||
                   read_integers(node, "nodes_truenodeids", nodes, &source->yes, NULL, err) < 0 ||
                   read_integers(node, "nodes_falsenodeids", nodes, &source->no, NULL, err) < 0 ||
                   (missing && missing->count &&
                    read_integers(node, "nodes_missing_value_tracks_true", nodes, &source->missing,
                                  NULL, err) < 0) ||
                   check_numbers(source->values, "nodes_values", nodes, err) < 0
               ? -1
               : 0;
}

static int read_ensemble(const struct node *node, struct source *source, struct error *err) {
    if (ensemble_lists_read(node, &source->own, err) < 0) {
        return -1;
    }
    const struct ensemble_lists *own = &source->own;
    source->nodes = own->nodes;
    source->weights = own->weights;
    source->trees = own->trees;
    source->ids = own->ids;
    source->features = own->features;
    source->yes = own->yes;
    source->no = own->no;
    source->missing = own->missing;
    source->weight_trees = own->weight_trees;
    source->weight_ids = own->weight_ids;
    source->weight_targets = own->weight_targets;
    return 0;
}

static int read_source(const struct node *node, struct source *source, struct error *err) {
    static const char *const names[2][4] = {
        {"target_treeids", "target_nodeids", "target_ids", "target_weights"},
        {"class_treeids", "class_nodeids", "class_ids", "class_weights"}};
    source->is_classifier = node->op->id == OP_ML_TREE_ENSEMBLE_CLASSIFIER;
    if (ml_is_ensemble(node)) {
        return read_ensemble(node, source, err);
    }
    const char *const *name = names[source->is_classifier];
    if (read_nodes(node, source, err) < 0 ||
        read_integers(node, name[0], SIZE_MAX, &source->weight_trees, &source->weights, err) < 0 ||
        read_integers(node, name[1], source->weights, &source->weight_ids, NULL, err) < 0 ||
        read_integers(node, name[2], source->weights, &source->weight_targets, NULL, err) < 0) {
        return -1;
    }
    source->weight_values = find_numbers(node, name[3]);
    return source->weights > NODES_MAX
               ? error_set(err, ERROR_INVALID, "more than %d weights", NODES_MAX)
               : check_numbers(source->weight_values, name[3], source->weights, err);
}

/* ---- places ---------------------------------------------------------------------------------- */

static int by_name(const void *left, const void *right) {
    const struct place *a = left, *b = right;
    return a->tree != b->tree ? (a->tree < b->tree ? -1 : 1) : (a->id > b->id) - (a->id < b->id);
}

static int make_places(struct build *build, struct error *err) {
    const struct source *source = &build->source;
    bool is_sorted = true;
    build->places = x_calloc(source->nodes, sizeof *build->places);
    for (size_t i = 0; i < source->nodes; i++) {
        build->places[i] =
            (struct place){source->trees[i], source->ids[i], (int32_t)i, {-1, -1}, -1, false};
        is_sorted = is_sorted && (i == 0 || by_name(&build->places[i - 1], &build->places[i]) < 0);
    }
    if (!is_sorted) {
        qsort(build->places, source->nodes, sizeof *build->places, by_name);
    }
    for (size_t i = 1; i < source->nodes; i++) {
        const struct place *place = &build->places[i];
        if (by_name(place - 1, place) == 0) {
            return error_set(err, ERROR_INVALID, "tree %lld: node id %lld is a duplicate",
                             (long long)place->tree, (long long)place->id);
        }
    }
    return 0;
}

/* -1: not found. `near`: where the tree begins; ids usually count from 0. */
static int32_t find_place(const struct build *build, int64_t tree, int64_t id, int64_t near) {
    struct place wanted = {.tree = tree, .id = id};
    if (id >= 0 && near >= 0 && id < (int64_t)build->source.nodes - near &&
        by_name(&build->places[near + id], &wanted) == 0) {
        return (int32_t)(near + id);
    }
    const struct place *found =
        bsearch(&wanted, build->places, build->source.nodes, sizeof wanted, by_name);
    return found ? (int32_t)(found - build->places) : -1;
}

/* The modes of the file, by TreeEnsemble's numbers. */
static const struct {
    const char *text;
    uint8_t mode;
    bool changes; /* the children are exchanged */
} modes[] = {[ENSEMBLE_LEQ] = {"BRANCH_LEQ", TREE_LEQ, false},
             [ENSEMBLE_LT] = {"BRANCH_LT", TREE_LT, false},
             [ENSEMBLE_GTE] = {"BRANCH_GTE", TREE_LT, true},
             [ENSEMBLE_GT] = {"BRANCH_GT", TREE_LEQ, true},
             [ENSEMBLE_EQ] = {"BRANCH_EQ", TREE_EQ, false},
             [ENSEMBLE_NEQ] = {"BRANCH_NEQ", TREE_EQ, true},
             [ENSEMBLE_LEAF] = {"LEAF", TREE_LEAF, false}};

/* The number of a row's mode; that of no mode: unknown. */
static size_t find_mode(const struct source *source, int32_t row) {
    size_t i = source->own.modes ? source->own.modes[row] : 0;
    if (!source->own.modes) {
        const struct attribute_string *text = &source->modes[row];
        while (i < ARRAY_LEN(modes) && (strlen(modes[i].text) != text->size ||
                                        memcmp(modes[i].text, text->bytes, text->size) != 0)) {
            i++;
        }
    }
    return i;
}

static int fault(const struct place *place, const char *what, int64_t number, struct error *err) {
    return error_set(err, ERROR_INVALID, "tree %lld, node %lld: %s %lld", (long long)place->tree,
                     (long long)place->id, what, (long long)number);
}

/* Finds both children, which must not be children of another node. */
static int link_children(struct build *build, struct place *place, int64_t near, bool changes,
                         struct error *err) {
    const int64_t ids[2] = {build->source.yes[place->row], build->source.no[place->row]};
    for (int i = 0; i < 2; i++) {
        int32_t child = find_place(build, place->tree, ids[i], near);
        if (child < 0) {
            return fault(place,
                         i ? "the tree has no node (its false node)"
                           : "the tree has no node (its true node)",
                         ids[i], err);
        }
        if (build->places[child].is_child) {
            return fault(place, "another branch leads to its child, too:", ids[i], err);
        }
        build->places[child].is_child = true;
        place->child[i ^ changes] = child;
    }
    return 0;
}

/* Reads threshold, mode and children of one node of the file. */
static int read_node(struct build *build, struct place *place, int64_t near, struct tree_node *to,
                     struct error *err) {
    const struct source *source = &build->source;
    size_t mode = find_mode(source, place->row);
    *to = (struct tree_node){.child = -1};
    if (mode == ARRAY_LEN(modes)) {
        return error_set(err, ERROR_UNSUPPORTED, "tree %lld, node %lld: mode \"%.*s\" is not known",
                         (long long)place->tree, (long long)place->id,
                         (int)MIN(source->modes[place->row].size, 40),
                         source->modes[place->row].bytes);
    }
    bool changes = modes[mode].changes;
    to->mode = modes[mode].mode;
    if (to->mode == TREE_LEAF) {
        return 0;
    }
    int64_t feature = source->features[place->row];
    if (feature < 0 || feature >= FEATURES_MAX) {
        return fault(place, "invalid feature id", feature, err);
    }
    to->feature = (int32_t)feature;
    build->trees->feature_count = MAX(build->trees->feature_count, feature + 1);
    to->value = value_at(source, (size_t)place->row);
    if (isnan(to->value)) {
        return fault(place, "its threshold is not a number; entry", place->row, err);
    }
    bool goes_true = source->missing && source->missing[place->row] != 0;
    /* Every comparison with NaN is false, except !=. */
    bool is_unequal = to->mode == TREE_EQ && changes;
    to->missing_first = is_unequal ? false : goes_true != changes;
    return link_children(build, place, near, changes, err);
}

/* ---- breadth-first order --------------------------------------------------------------------- */

/* The places from..to - 1 are one tree. */
static int place_tree(struct build *build, struct tree_node *read, int32_t from, int32_t to,
                      struct error *err) {
    struct ml_trees *trees = build->trees;
    int32_t root = -1, taken = 0, known = 0;
    for (int32_t i = from; i < to; i++) {
        if (!build->places[i].is_child && root >= 0) {
            return fault(&build->places[i], "the tree has two roots, this one and node",
                         build->places[root].id, err);
        }
        root = build->places[i].is_child ? root : i;
    }
    if (root < 0) {
        return fault(&build->places[from],
                     "the tree has no root: its nodes form a cycle:", to - from, err);
    }
    build->queue[known++] = root;
    while (taken < known) {
        struct place *place = &build->places[build->queue[taken]];
        struct tree_node *node = &trees->nodes[from + taken];
        *node = read[build->queue[taken]];
        place->node = from + taken++;
        if (node->mode != TREE_LEAF) {
            node->child = from + known;
            build->queue[known++] = place->child[0];
            build->queue[known++] = place->child[1];
        }
    }
    return known == to - from
               ? 0
               : fault(&build->places[root],
                       "not reached from this root are nodes:", to - from - known, err);
}

static int place_trees(struct build *build, struct error *err) {
    struct ml_trees *trees = build->trees;
    int32_t count = (int32_t)build->source.nodes, from = 0;
    struct tree_node *read = x_calloc((size_t)count, sizeof *read);
    int result = 0;
    trees->nodes = x_calloc((size_t)count, sizeof *trees->nodes);
    trees->roots = x_calloc((size_t)count + 1, sizeof *trees->roots);
    trees->node_count = count;
    build->queue = x_calloc((size_t)count, sizeof *build->queue);
    for (int32_t i = 0, near = 0; result == 0 && i < count; i++) {
        near = i && build->places[i].tree != build->places[i - 1].tree ? i : near;
        result = read_node(build, &build->places[i], near, &read[i], err);
    }
    for (int32_t i = 1; result == 0 && i <= count; i++) {
        if (i == count || build->places[i].tree != build->places[from].tree) {
            result = place_tree(build, read, from, i, err);
            trees->roots[trees->tree_count++] = from;
            from = i;
        }
    }
    trees->roots[trees->tree_count] = count;
    free(read);
    return result;
}

/* ---- weights --------------------------------------------------------------------------------- */

/* The leaf of a weight; -1: a branch, whose weights are ignored. */
static int find_leaf(const struct build *build, size_t i, int32_t *ret_node, struct error *err) {
    const struct source *source = &build->source;
    int64_t tree = source->weight_trees[i], target = source->weight_targets[i];
    int32_t place = find_place(build, tree, source->weight_ids[i], -1);
    if (place < 0) {
        return error_set(err, ERROR_INVALID, "weight %zu: tree %lld has no node %lld", i,
                         (long long)tree, (long long)source->weight_ids[i]);
    }
    if (target < 0 || target >= build->trees->target_count) {
        return error_set(err, ERROR_INVALID, "weight %zu is for target or class %lld of %lld", i,
                         (long long)target, (long long)build->trees->target_count);
    }
    int32_t node = build->places[place].node;
    *ret_node = build->trees->nodes[node].mode == TREE_LEAF ? node : -1;
    return 0;
}

static void note_class(struct ml_trees *trees, bool *is_weighted, int64_t target, double value) {
    trees->weighted_count += !is_weighted[target];
    is_weighted[target] = true;
    trees->is_second_weighted = trees->is_second_weighted || target == 1;
    trees->is_positive = trees->is_positive && value >= 0;
}

/* Groups weights by leaf, in the order of the file. */
static int place_weights(struct build *build, struct error *err) {
    const struct source *source = &build->source;
    struct ml_trees *trees = build->trees;
    int32_t *leaves = x_calloc(source->weights + 1, sizeof *leaves), next = 0;
    bool *is_weighted = x_calloc((size_t)trees->target_count, sizeof *is_weighted);
    int result = 0;
    trees->weights = x_calloc(source->weights + 1, sizeof *trees->weights);
    trees->is_positive = true;
    for (size_t i = 0; result == 0 && i < source->weights; i++) {
        result = find_leaf(build, i, &leaves[i], err);
        if (result == 0 && leaves[i] >= 0) {
            trees->nodes[leaves[i]].feature++;
        }
    }
    for (int32_t i = 0; result == 0 && i < trees->node_count; i++) {
        if (trees->nodes[i].mode == TREE_LEAF) {
            trees->nodes[i].child = next;
            next += trees->nodes[i].feature;
            trees->nodes[i].feature = 0;
        }
    }
    for (size_t i = 0; result == 0 && i < source->weights; i++) {
        double value = weight_at(source, i);
        if (leaves[i] >= 0) {
            struct tree_node *leaf = &trees->nodes[leaves[i]];
            trees->weights[leaf->child + leaf->feature++] =
                (struct tree_weight){(int32_t)source->weight_targets[i], value};
        }
        note_class(trees, is_weighted, source->weight_targets[i], value);
    }
    trees->weight_count = next;
    free(leaves);
    free(is_weighted);
    return result;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* The rules of these attributes have checked their values. */
static enum tree_aggregate read_aggregate(const struct node *node) {
    static const char *const names[] = {"SUM", "AVERAGE", "MIN", "MAX"};
    static_assert(ARRAY_LEN(names) == TREE_AGGREGATE_COUNT, "one name per aggregate");
    static const enum tree_aggregate numbers[] = {TREE_AVERAGE, TREE_SUM, TREE_MIN, TREE_MAX};
    if (ml_is_ensemble(node)) {
        return numbers[node_integer(node, "aggregate_function", 1)];
    }
    const char *text = node_text(node, "aggregate_function", "SUM");
    int aggregate = 0;
    while (strcmp(names[aggregate], text) != 0) {
        aggregate++;
    }
    return (enum tree_aggregate)aggregate;
}

static enum ml_post read_post(const struct node *node) {
    int64_t number = node_integer(node, "post_transform", 0); /* 3 or 4, as ml_ensemble.c checks */
    return !ml_is_ensemble(node) ? ml_read_post(node)
           : number == 3         ? ML_POST_SOFTMAX_ZERO
           : number == 4         ? ML_POST_PROBIT
                                 : ML_POST_NONE;
}

static int read_targets(const struct node *node, struct ml_trees *trees, struct error *err) {
    trees->aggregate = read_aggregate(node);
    trees->is_classifier = node->op->id == OP_ML_TREE_ENSEMBLE_CLASSIFIER;
    trees->post = read_post(node);
    trees->labels = ml_read_labels(node, "classlabels_int64s");
    trees->target_count =
        trees->is_classifier ? (int64_t)trees->labels.count : node_integer(node, "n_targets", 1);
    return trees->target_count >= 1 && trees->target_count <= ML_TARGETS_MAX
               ? 0
               : error_set(err, ERROR_INVALID, "%lld targets or classes; 1 to %d are expected",
                           (long long)trees->target_count, ML_TARGETS_MAX);
}

/* Checks for one per target; a classifier of two classes with one score may have one. */
static int read_base(const struct node *node, struct ml_trees *trees, struct error *err) {
    const struct attribute *base = find_numbers(node, "base_values");
    size_t count = number_count(base), targets = (size_t)trees->target_count;
    bool is_fine =
        count == 0 || count == targets || (trees->is_classifier && targets == 2 && count == 1);
    if (check_numbers(base, "base_values", is_fine ? count : targets, err) < 0) {
        return -1;
    }
    trees->base = x_calloc(count + 1, sizeof *trees->base);
    trees->base_count = count;
    for (size_t i = 0; i < count; i++) {
        trees->base[i] = number_at(base, i);
    }
    return 0;
}

/* Children come after their parents. */
static void count_steps(struct ml_trees *trees) {
    int32_t *depths = x_calloc((size_t)trees->node_count, sizeof *depths);
    for (int32_t t = 0; t < trees->tree_count; t++) {
        double most = 0;
        for (int32_t i = trees->roots[t]; i < trees->roots[t + 1]; i++) {
            const struct tree_node *node = &trees->nodes[i];
            if (node->mode == TREE_LEAF) {
                most = MAX(most, 1 + (double)depths[i] + (double)node->feature);
            } else {
                depths[node->child] = depths[node->child + 1] = depths[i] + 1;
            }
        }
        trees->row_steps += most;
    }
    free(depths);
}

int ml_trees_read(const struct node *node, struct ml_trees **ret_trees, struct error *err) {
    AUTO(ml_trees_freep) struct ml_trees *trees = x_calloc(1, sizeof *trees);
    struct build build = {.trees = trees};
    int result = read_targets(node, trees, err) < 0 || read_base(node, trees, err) < 0 ||
                         read_source(node, &build.source, err) < 0 ||
                         make_places(&build, err) < 0 || place_trees(&build, err) < 0 ||
                         place_weights(&build, err) < 0
                     ? -1
                     : 0;
    free(build.places);
    free(build.queue);
    ensemble_lists_release(&build.source.own);
    if (result == 0) {
        count_steps(trees);
        *ret_trees = TAKE(trees);
    }
    return result;
}

int ml_trees_of(const struct node *node, struct ml_trees **ret_trees, struct ml_trees **ret_own,
                struct error *err) {
    *ret_own = NULL;
    *ret_trees = node->made;
    if (!node->made && ml_trees_read(node, ret_own, err) < 0) {
        return -1;
    }
    *ret_trees = node->made ? node->made : *ret_own;
    return 0;
}

void ml_trees_free(struct ml_trees *trees) {
    if (trees) {
        if (trees->fast) {
            trees->fast_free(trees->fast);
        }
        free(trees->roots);
        free(trees->nodes);
        free(trees->weights);
        free(trees->base);
        free(trees);
    }
}

void ml_trees_freep(struct ml_trees **trees) {
    ml_trees_free(*trees);
    *trees = NULL;
}

const struct tree_node *ml_trees_leaf(const struct ml_trees *trees, int32_t tree, const double *x) {
    const struct tree_node *node = &trees->nodes[trees->roots[tree]];
    while (node->mode != TREE_LEAF) {
        double value = x[node->feature];
        bool is_first = isnan(value)             ? node->missing_first
                        : node->mode == TREE_LEQ ? value <= node->value
                        : node->mode == TREE_LT  ? value < node->value
                                                 : value == node->value;
        node = &trees->nodes[node->child + !is_first];
    }
    return node;
}

int infer_ml_trees(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                   struct error *err) {
    AUTO(ml_trees_freep) struct ml_trees *own = NULL;
    struct ml_trees *trees;
    int64_t rows, columns;
    if (ml_rows(inputs[0], &rows, &columns, err) < 0 || ml_trees_of(node, &trees, &own, err) < 0) {
        return -1;
    }
    if (trees->feature_count > columns) {
        return error_set(err, ERROR_INVALID, "it reads feature %lld, its input has %lld",
                         (long long)trees->feature_count - 1, (long long)columns);
    }
    struct shape scores = {2, {rows, trees->target_count}};
    ml_set_outputs(node, trees->is_classifier, &scores, outputs);
    return 0;
}
