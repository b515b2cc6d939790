// SPDX-License-Identifier: Apache-2.0
/* The table of ai.onnx.ml operators and their attributes. */
#include "agent/engine/ops/ml/ml.h"

#include "agent/engine/ops/infer/params.h"
#include "agent/engine/ops/op_id.h"

#include <string.h>

#define INTEGER ATTRIBUTE_INTEGER
#define NUMBER ATTRIBUTE_NUMBER
#define TEXT ATTRIBUTE_STRING
#define INTEGERS ATTRIBUTE_INTEGERS
#define NUMBERS ATTRIBUTE_NUMBERS
#define TENSOR ATTRIBUTE_TENSOR
#define TEXTS ATTRIBUTE_STRINGS

static const char posts[] = "NONE|LOGISTIC|SOFTMAX|SOFTMAX_ZERO|PROBIT";

static const struct attribute_rule threshold_rules[] = {
    {"threshold", NUMBER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
static const struct attribute_rule vectorizer_rules[] = {
    {"inputdimensions", INTEGERS, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
static const struct attribute_rule imputer_rules[] = {
    {"imputed_value_floats", NUMBERS, NULL, 0, 0},
    {"imputed_value_int64s", INTEGERS, NULL, 0, 0},
    {"replaced_value_float", NUMBER, NULL, 0, 0},
    {"replaced_value_int64", INTEGER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
/* Version 2's lists, which every version has after it was read (onnx/string_values.h). */
#define ENCODER_RULES                                                                              \
    {"default_float", NUMBER, NULL, 0, 0}, {"default_int64", INTEGER, NULL, 0, 0},                 \
        {"default_string", TEXT, NULL, 0, 0}, {"keys_floats", NUMBERS, NULL, 0, 0},                \
        {"keys_int64s", INTEGERS, NULL, 0, 0}, {"values_floats", NUMBERS, NULL, 0, 0},             \
        {"values_int64s", INTEGERS, NULL, 0, 0}, {"keys_strings", TEXTS, NULL, 0, 0}, {            \
        "values_strings", TEXTS, NULL, 0, 0                                                        \
    }
static const struct attribute_rule label_encoder_rules[] = {
    ENCODER_RULES,
    {"default_tensor", TENSOR, NULL, 0, 0},
    {"keys_tensor", TENSOR, NULL, 0, 0},
    {"values_tensor", TENSOR, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
static const struct attribute_rule first_encoder_rules[] = {
    ENCODER_RULES,
    {"classes_strings", TEXTS, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
static const struct attribute_rule category_rules[] = {
    ENCODER_RULES,
    {"cats_int64s", INTEGERS, NULL, 0, 0},
    {"cats_strings", TEXTS, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
static const struct attribute_rule linear_classifier_rules[] = {
    {"classlabels_ints", INTEGERS, NULL, 0, 0},
    {"classlabels_strings", TEXTS, NULL, 0, 0},
    {"coefficients", NUMBERS, NULL, 0, 0},
    {"intercepts", NUMBERS, NULL, 0, 0},
    {"multi_class", INTEGER, NULL, 0, 0},
    {"post_transform", TEXT, posts, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
static const struct attribute_rule linear_regressor_rules[] = {
    {"coefficients", NUMBERS, NULL, 0, 0}, {"intercepts", NUMBERS, NULL, 0, 0},
    {"post_transform", TEXT, posts, 0, 0}, {"targets", INTEGER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
static const struct attribute_rule normalizer_rules[] = {
    {"norm", TEXT, "MAX|L1|L2", 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
static const struct attribute_rule one_hot_rules[] = {
    {"cats_int64s", INTEGERS, NULL, 0, 0},
    {"cats_strings", TEXTS, NULL, 0, 0},
    {"zeros", INTEGER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
static const struct attribute_rule scaler_rules[] = {
    {"offset", NUMBERS, NULL, 0, 0},
    {"scale", NUMBERS, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
#define SVM_RULES                                                                                  \
    {"coefficients", NUMBERS, NULL, 0, 0}, {"kernel_params", NUMBERS, NULL, 0, 0},                 \
        {"kernel_type", TEXT, "LINEAR|POLY|RBF|SIGMOID", 0, 0},                                    \
        {"post_transform", TEXT, posts, 0, 0}, {"rho", NUMBERS, NULL, 0, 0}, {                     \
        "support_vectors", NUMBERS, NULL, 0, 0                                                     \
    }
static const struct attribute_rule svm_classifier_rules[] = {
    SVM_RULES,
    {"classlabels_ints", INTEGERS, NULL, 0, 0},
    {"classlabels_strings", TEXTS, NULL, 0, 0},
    {"prob_a", NUMBERS, NULL, 0, 0},
    {"prob_b", NUMBERS, NULL, 0, 0},
    {"vectors_per_class", INTEGERS, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
static const struct attribute_rule svm_regressor_rules[] = {
    SVM_RULES,
    {"n_supports", INTEGER, NULL, 0, 0},
    {"one_class", INTEGER, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
/* nodes_hitrates: how often each node was visited, for information only. */
#define TREE_RULES                                                                                 \
    {"base_values", NUMBERS, NULL, 0, 0}, {"base_values_as_tensor", TENSOR, NULL, 0, 0},           \
        {"nodes_falsenodeids", INTEGERS, NULL, 0, 0}, {"nodes_featureids", INTEGERS, NULL, 0, 0},  \
        {"nodes_hitrates", NUMBERS, NULL, 0, 0}, {"nodes_hitrates_as_tensor", TENSOR, NULL, 0, 0}, \
        {"nodes_missing_value_tracks_true", INTEGERS, NULL, 0, 0},                                 \
        {"nodes_modes", TEXTS, NULL, 0, 0}, {"nodes_nodeids", INTEGERS, NULL, 0, 0},               \
        {"nodes_treeids", INTEGERS, NULL, 0, 0}, {"nodes_truenodeids", INTEGERS, NULL, 0, 0},      \
        {"nodes_values", NUMBERS, NULL, 0, 0}, {"nodes_values_as_tensor", TENSOR, NULL, 0, 0}, {   \
        "post_transform", TEXT, posts, 0, 0                                                        \
    }
static const struct attribute_rule tree_classifier_rules[] = {
    TREE_RULES,
    {"class_ids", INTEGERS, NULL, 0, 0},
    {"class_nodeids", INTEGERS, NULL, 0, 0},
    {"class_treeids", INTEGERS, NULL, 0, 0},
    {"class_weights", NUMBERS, NULL, 0, 0},
    {"class_weights_as_tensor", TENSOR, NULL, 0, 0},
    {"classlabels_int64s", INTEGERS, NULL, 0, 0},
    {"classlabels_strings", TEXTS, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
static const struct attribute_rule tree_regressor_rules[] = {
    TREE_RULES,
    {"aggregate_function", TEXT, "SUM|AVERAGE|MIN|MAX", 0, 0},
    {"n_targets", INTEGER, NULL, 0, 0},
    {"target_ids", INTEGERS, NULL, 0, 0},
    {"target_nodeids", INTEGERS, NULL, 0, 0},
    {"target_treeids", INTEGERS, NULL, 0, 0},
    {"target_weights", NUMBERS, NULL, 0, 0},
    {"target_weights_as_tensor", TENSOR, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
/* From version 5 on, instead of both. */
static const struct attribute_rule tree_ensemble_rules[] = {
    {"aggregate_function", INTEGER, NULL, 0, 3},
    {"leaf_targetids", INTEGERS, NULL, 0, 0},
    {"leaf_weights", TENSOR, NULL, 0, 0},
    {"membership_values", TENSOR, NULL, 0, 0},
    {"n_targets", INTEGER, NULL, 0, 0},
    {"nodes_falseleafs", INTEGERS, NULL, 0, 0},
    {"nodes_falsenodeids", INTEGERS, NULL, 0, 0},
    {"nodes_featureids", INTEGERS, NULL, 0, 0},
    {"nodes_hitrates", TENSOR, NULL, 0, 0},
    {"nodes_missing_value_tracks_true", INTEGERS, NULL, 0, 0},
    {"nodes_modes", TENSOR, NULL, 0, 0},
    {"nodes_splits", TENSOR, NULL, 0, 0},
    {"nodes_trueleafs", INTEGERS, NULL, 0, 0},
    {"nodes_truenodeids", INTEGERS, NULL, 0, 0},
    {"post_transform", INTEGER, NULL, 0, 4},
    {"tree_roots", INTEGERS, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};
static const struct attribute_rule zip_map_rules[] = {
    {"classlabels_int64s", INTEGERS, NULL, 0, 0},
    {"classlabels_strings", TEXTS, NULL, 0, 0},
    {NULL, INTEGER, NULL, 0, 0},
};

enum { MANY = NODE_PORTS_MAX, NEWEST = 99 };

/* Columns as in table.c. ZipMap's list of maps is left out (engine/onnx/left_out.h): its output is
 * its input. */
static const struct op rows[] = {
    {OP_ML_ARRAY_FEATURE_EXTRACTOR, "ArrayFeatureExtractor", 1, NEWEST, 2, 2, 1, "*l", NULL,
     infer_ml_extractor, OP_ML},
    {OP_ML_BINARIZER, "Binarizer", 1, NEWEST, 1, 1, 1, "t", threshold_rules, infer_same, OP_ML},
    {OP_ML_LABEL_ENCODER, "CategoryMapper", 1, NEWEST, 1, 1, 1, "l", category_rules,
     infer_ml_label_encoder, OP_ML},
    {OP_ML_FEATURE_VECTORIZER, "FeatureVectorizer", 1, NEWEST, 1, MANY, 1, "t", vectorizer_rules,
     infer_ml_vectorizer, OP_ML},
    {OP_ML_IMPUTER, "Imputer", 1, NEWEST, 1, 1, 1, "t", imputer_rules, infer_ml_imputer, OP_ML},
    {OP_ML_LABEL_ENCODER, "LabelEncoder", 1, 1, 1, 1, 1, "l", first_encoder_rules,
     infer_ml_label_encoder, OP_ML},
    {OP_ML_LABEL_ENCODER, "LabelEncoder", 2, NEWEST, 1, 1, 1, "t", label_encoder_rules,
     infer_ml_label_encoder, OP_ML},
    {OP_ML_LINEAR_CLASSIFIER, "LinearClassifier", 1, NEWEST, 1, 1, 2, "t", linear_classifier_rules,
     infer_ml_linear, OP_ML},
    {OP_ML_LINEAR_REGRESSOR, "LinearRegressor", 1, NEWEST, 1, 1, 1, "t", linear_regressor_rules,
     infer_ml_linear, OP_ML},
    {OP_ML_NORMALIZER, "Normalizer", 1, NEWEST, 1, 1, 1, "t", normalizer_rules, infer_ml_float,
     OP_ML},
    {OP_ML_ONE_HOT_ENCODER, "OneHotEncoder", 1, NEWEST, 1, 1, 1, "t", one_hot_rules,
     infer_ml_one_hot, OP_ML},
    {OP_ML_SCALER, "Scaler", 1, NEWEST, 1, 1, 1, "t", scaler_rules, infer_ml_float, OP_ML},
    {OP_ML_SVM_CLASSIFIER, "SVMClassifier", 1, NEWEST, 1, 1, 2, "t", svm_classifier_rules,
     infer_ml_svm, OP_ML},
    {OP_ML_SVM_REGRESSOR, "SVMRegressor", 1, NEWEST, 1, 1, 1, "t", svm_regressor_rules,
     infer_ml_svm, OP_ML},
    {OP_ML_TREE_ENSEMBLE_CLASSIFIER, "TreeEnsembleClassifier", 1, NEWEST, 1, 1, 2, "t",
     tree_classifier_rules, infer_ml_trees, OP_ML},
    {OP_ML_TREE_ENSEMBLE_REGRESSOR, "TreeEnsemble", 5, NEWEST, 1, 1, 1, "f", tree_ensemble_rules,
     infer_ml_trees, OP_ML},
    {OP_ML_TREE_ENSEMBLE_REGRESSOR, "TreeEnsembleRegressor", 1, NEWEST, 1, 1, 1, "t",
     tree_regressor_rules, infer_ml_trees, OP_ML},
    {OP_IDENTITY, "ZipMap", 1, NEWEST, 1, 1, 1, "f", zip_map_rules, infer_same, OP_ML | OP_VIEW},
};

const struct op *ml_table_find(const char *name, int version) {
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].since <= version && version <= rows[i].until &&
            strcmp(rows[i].name, name) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

const struct op *ml_table_row(size_t index) {
    return index < ARRAY_LEN(rows) ? &rows[index] : NULL;
}
