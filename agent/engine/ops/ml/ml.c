// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/ml/ml.h"

#include "agent/engine/ops/infer/params.h"
#include "agent/engine/ops/ml/ml_tree.h"
#include "agent/engine/ops/op_id.h"

#include <string.h>

/* Checks for one entry, or one per column; if is_optional, none is allowed. */
static int check_columns(const char *name, size_t count, bool is_optional, int64_t columns,
                         struct error *err) {
    return (is_optional && count == 0) || count == 1 || count == (size_t)columns
               ? 0
               : error_set(err, ERROR_INVALID,
                           "attribute \"%s\" has %zu entries, 1 or %lld (its input's columns) are "
                           "expected",
                           name, count, (long long)columns);
}

/* ---- linear models --------------------------------------------------------------------------- */

int ml_linear_read(const struct node *node, struct ml_linear *ret_linear, struct error *err) {
    struct ml_linear linear = {0};
    struct ml_labels labels = ml_read_labels(node, "classlabels_ints");
    bool is_classifier = node->op->id == OP_ML_LINEAR_CLASSIFIER;
    size_t coefficients, intercepts;
    linear.coefficients = ml_numbers(node, "coefficients", &coefficients);
    linear.intercepts = ml_numbers(node, "intercepts", &intercepts);
    linear.targets = !is_classifier ? node_integer(node, "targets", 1)
                     : intercepts   ? (int64_t)intercepts
                                    : (int64_t)labels.count;
    linear.expands = is_classifier && linear.targets == 1 && labels.count == 2;
    if (linear.targets < 1 || linear.targets > ML_TARGETS_MAX) {
        return error_set(err, ERROR_INVALID, "%lld targets or classes; 1 to %d are expected",
                         (long long)linear.targets, ML_TARGETS_MAX);
    }
    if (coefficients == 0 || coefficients % (size_t)linear.targets != 0) {
        return error_set(err, ERROR_INVALID,
                         "attribute \"coefficients\" has %zu entries, a multiple of %lld (its "
                         "targets or classes) is expected",
                         coefficients, (long long)linear.targets);
    }
    if (intercepts && intercepts != (size_t)linear.targets) {
        return error_set(err, ERROR_INVALID,
                         "attribute \"intercepts\" has %zu entries, %lld are expected", intercepts,
                         (long long)linear.targets);
    }
    if (is_classifier && linear.targets > 1 && labels.count != (size_t)linear.targets) {
        return error_set(err, ERROR_INVALID, "%zu labels for %lld classes", labels.count,
                         (long long)linear.targets);
    }
    linear.features = (int64_t)coefficients / linear.targets;
    *ret_linear = linear;
    return 0;
}

int infer_ml_linear(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                    struct error *err) {
    struct ml_linear linear;
    int64_t rows, columns;
    if (ml_linear_read(node, &linear, err) < 0 || ml_rows(inputs[0], &rows, &columns, err) < 0) {
        return -1;
    }
    if (columns != linear.features) {
        return error_set(err, ERROR_INVALID,
                         "its coefficients are for %lld columns, its input has %lld",
                         (long long)linear.features, (long long)columns);
    }
    bool has_labels = node->op->id == OP_ML_LINEAR_CLASSIFIER;
    struct shape scores = {2, {rows, linear.expands ? 2 : linear.targets}};
    ml_set_outputs(node, has_labels, &scores, outputs);
    return 0;
}

/* ---- columns --------------------------------------------------------------------------------- */

int infer_ml_float(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                   struct error *err) {
    int64_t rows, columns;
    size_t offsets, scales;
    (void)ml_numbers(node, "offset", &offsets);
    (void)ml_numbers(node, "scale", &scales);
    if (ml_rows(inputs[0], &rows, &columns, err) < 0 ||
        check_columns("offset", offsets, true, columns, err) < 0 ||
        check_columns("scale", scales, true, columns, err) < 0) {
        return -1;
    }
    outputs[0].type = TENSOR_FLOAT32;
    outputs[0].shape = inputs[0]->shape;
    return 0;
}

int infer_ml_imputer(const struct node *node, const struct fact *const *inputs,
                     struct fact *outputs, struct error *err) {
    bool is_real = tensor_type_is_real(inputs[0]->type);
    const char *name = is_real ? "imputed_value_floats" : "imputed_value_int64s";
    const struct attribute *values = node_attribute(node, name);
    int64_t rows, columns;
    if (ml_rows(inputs[0], &rows, &columns, err) < 0 ||
        check_columns(name, values ? values->count : 0, false, columns, err) < 0) {
        return -1;
    }
    return infer_same(node, inputs, outputs, err);
}

/* Checks for one kind of keys, one kind of values, and as many of each. */
static int check_label_encoder(const struct node *node, struct error *err) {
    size_t keys[2], values[2];
    (void)node_integers(node, "keys_int64s", &keys[0]);
    (void)ml_numbers(node, "keys_floats", &keys[1]);
    (void)node_integers(node, "values_int64s", &values[0]);
    (void)ml_numbers(node, "values_floats", &values[1]);
    bool fits = !keys[0] != !keys[1] && !values[0] != !values[1] &&
                keys[0] + keys[1] == values[0] + values[1];
    return fits ? 0
                : error_set(err, ERROR_INVALID,
                            "%zu keys and %zu values; as many of each, all integers or all floats, "
                            "are expected",
                            keys[0] + keys[1], values[0] + values[1]);
}

enum tensor_type ml_label_type(const struct node *node) {
    size_t floats;
    (void)ml_numbers(node, "values_floats", &floats);
    return floats ? TENSOR_FLOAT32 : TENSOR_INT64;
}

int infer_ml_label_encoder(const struct node *node, const struct fact *const *inputs,
                           struct fact *outputs, struct error *err) {
    size_t keys; /* an existing list may be empty, so this check and the kernel use counts */
    (void)ml_numbers(node, "keys_floats", &keys);
    if (tensor_type_is_real(inputs[0]->type) != (keys > 0)) {
        return error_set(err, ERROR_INVALID, "its keys are not of its input's type, %s",
                         tensor_type_name(inputs[0]->type));
    }
    outputs[0].type = ml_label_type(node);
    outputs[0].shape = inputs[0]->shape;
    return 0;
}

static int check_one_hot(const struct node *node, struct error *err) {
    size_t count;
    (void)node_integers(node, "cats_int64s", &count);
    return count ? 0
                 : error_set(err, ERROR_INVALID,
                             "attribute \"cats_int64s\" or \"cats_strings\" with the categories "
                             "is missing");
}

int infer_ml_one_hot(const struct node *node, const struct fact *const *inputs,
                     struct fact *outputs, struct error *err) {
    const struct shape *x = &inputs[0]->shape;
    size_t count;
    (void)node_integers(node, "cats_int64s", &count);
    if (x->rank == TENSOR_RANK_MAX) {
        return error_set(err, ERROR_UNSUPPORTED, "an output of more than %d dimensions",
                         TENSOR_RANK_MAX);
    }
    outputs[0].type = TENSOR_FLOAT32;
    outputs[0].shape = *x;
    outputs[0].shape.dims[outputs[0].shape.rank++] = (int64_t)count;
    return 0;
}

static int check_vectorizer(const struct node *node, struct error *err) {
    size_t count;
    const int64_t *sizes = node_integers(node, "inputdimensions", &count);
    bool fits = count == (size_t)node->input_count;
    for (size_t i = 0; fits && i < count; i++) {
        fits = sizes[i] >= 0 && sizes[i] <= 1 << 24;
    }
    return fits ? 0
                : error_set(
                      err, ERROR_INVALID,
                      "attribute \"inputdimensions\" must have a size for each of the %d inputs",
                      node->input_count);
}

int infer_ml_vectorizer(const struct node *node, const struct fact *const *inputs,
                        struct fact *outputs, struct error *err) {
    size_t count;
    const int64_t *sizes = node_integers(node, "inputdimensions", &count);
    int64_t rows = 0, total = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t these, columns;
        if (!inputs[i] || ml_rows(inputs[i], &these, &columns, err) < 0 || (i && these != rows)) {
            return error_set(err, ERROR_INVALID, "input %zu has not as many rows as input 0", i);
        }
        rows = these;
        total += sizes[i];
    }
    outputs[0].type = TENSOR_FLOAT32;
    outputs[0].shape = (struct shape){2, {rows, total}};
    return 0;
}

int infer_ml_extractor(const struct node *node UNUSED, const struct fact *const *inputs,
                       struct fact *outputs, struct error *err) {
    const struct shape *x = &inputs[0]->shape;
    struct shape shape = *x;
    if (x->rank < 1) {
        return error_set(err, ERROR_INVALID, "input 0 has no columns");
    }
    if (x->rank == 1) {
        shape = (struct shape){2, {1, 0}};
    }
    shape.dims[shape.rank - 1] = shape_count(&inputs[1]->shape);
    outputs[0].shape = shape;
    return 0;
}

/* ---- checks without an input ----------------------------------------------------------------- */

static void release_trees(void *trees) {
    ml_trees_free(trees);
}

static int make_trees(struct node *node, struct arena *arena, struct error *err) {
    struct ml_trees *trees = NULL;
    if (ml_trees_read(node, &trees, err) < 0) {
        return -1;
    }
    arena_keep(arena, trees, release_trees);
    node->made = trees;
    return 0;
}

static int check(struct node *node, struct arena *arena, struct error *err) {
    struct ml_linear linear;
    struct ml_svm svm;
    switch (node->op->id) {
    case OP_ML_TREE_ENSEMBLE_CLASSIFIER:
    case OP_ML_TREE_ENSEMBLE_REGRESSOR:
        return make_trees(node, arena, err);
    case OP_ML_LINEAR_CLASSIFIER:
    case OP_ML_LINEAR_REGRESSOR:
        return ml_linear_read(node, &linear, err);
    case OP_ML_SVM_CLASSIFIER:
    case OP_ML_SVM_REGRESSOR:
        return ml_svm_read(node, &svm, err);
    case OP_ML_LABEL_ENCODER:
        return check_label_encoder(node, err);
    case OP_ML_ONE_HOT_ENCODER:
        return check_one_hot(node, err);
    case OP_ML_FEATURE_VECTORIZER:
        return check_vectorizer(node, err);
    default:
        return 0;
    }
}

int ml_check(struct node *node, struct arena *arena, struct error *err) {
    return check(node, arena, err) < 0
               ? error_context(err, "%s node \"%.64s\"", node->op->name, node->name)
               : 0;
}
