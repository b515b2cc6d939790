/* ml.h: the operators of ai.onnx.ml, for classical models: trees, linear models, support
 * vector machines, and the preprocessing of a table's columns. Source: ONNX's Operators-ml.md;
 * where it is vague, we follow ONNX Runtime, with the exceptions given here and in
 * device/cpu/ml/ml.h.
 *
 * Inputs are rows [n, features]; an input with one dimension is one row. Labels are int64; strings
 * are already numbers of graph->strings (engine/onnx/string_values.h). */
#pragma once

#include "agent/engine/graph/node.h"
#include "lib/arena.h"

/* ML_VERSION_MAX: the last supported version of the domain. */
enum { ML_VERSION_MAX = 5, ML_TARGETS_MAX = 1 << 16 };

/* The row for an operator in a version of the domain; NULL: not supported. */
const struct op *ml_table_find(const char *name, int version);
const struct op *ml_table_row(size_t index); /* NULL if index is past the last row */

/* Checks that the node's attributes are consistent, which rules for single attributes cannot do. It
 * does not need inputs, so a model is refused when it is loaded. It also compiles trees and stores
 * them in node->made, which is released with the arena. */
NODISCARD int ml_check(struct node *node, struct arena *arena, struct error *err);

enum ml_post {
    ML_POST_NONE,
    ML_POST_LOGISTIC,
    ML_POST_SOFTMAX,
    ML_POST_SOFTMAX_ZERO,
    ML_POST_PROBIT,
    ML_POST_COUNT
};
enum ml_post
ml_read_post(const struct node *node); /* post_transform; its rule has checked the value */

/* A classifier's classes; `count` is the number of its labels. */
struct ml_labels {
    size_t count;
    const int64_t *integers; /* NULL: none; then a label is the index of its class */
};
/* ints: the name of the attribute with the integers, which differs between operators. */
struct ml_labels ml_read_labels(const struct node *node, const char *ints);
int64_t ml_label(const struct ml_labels *labels, size_t index);

/* Rows and columns of an input. ERROR_INVALID if it does not have one or two dimensions. */
NODISCARD int ml_rows(const struct fact *fact, int64_t *ret_rows, int64_t *ret_columns,
                      struct error *err);

/* Sets the outputs' types and shapes: a classifier's labels, then the scores [rows, n]. */
void ml_set_outputs(const struct node *node, bool has_labels, const struct shape *scores,
                    struct fact *outputs);

/* LinearRegressor, LinearClassifier. coefficients: [targets, features]. */
struct ml_linear {
    int64_t targets, features;
    const float *coefficients, *intercepts; /* intercepts NULL: none */
    bool expands; /* a classifier of two classes with one computed score, whose output has two
                     scores */
};
NODISCARD int ml_linear_read(const struct node *node, struct ml_linear *ret_linear,
                             struct error *err);

/* With gamma, shift and degree of kernel_params, a row x and a vector v: LINEAR is x v, POLY is
 * (gamma x v + shift)^degree, RBF is exp(-gamma |x - v|^2), SIGMOID is tanh(gamma x v + shift). */
enum ml_kernel {
    ML_KERNEL_LINEAR,
    ML_KERNEL_POLY,
    ML_KERNEL_RBF,
    ML_KERNEL_SIGMOID,
    ML_KERNEL_COUNT
};

/* SVMRegressor, SVMClassifier. A classifier decides between each two classes, in the order 0 1,
 * 0 2, ..., 1 2, ...: above 0 is the first of them, and the class with the most of these votes is
 * the label. Its scores are those of the classes with prob_a and prob_b, else the decisions; of
 * two classes -s and s, whose decision s is (as ONNX Runtime has it). */
struct ml_svm {
    enum ml_kernel kernel;
    double gamma, shift, degree;
    int64_t classes, pairs; /* 0: a regressor */
    int64_t vectors, features, scores;
    const float *support;         /* [vectors, features], class by class */
    const float *coefficients;    /* [classes - 1, vectors], a regressor's [vectors]; the vectors of
                                     class i have those against j in row j, or j - 1 if i < j */
    const float *rho;             /* [pairs], a regressor's [1] */
    const float *prob_a, *prob_b; /* [pairs]; NULL: no probabilities */
    const int64_t *sizes;         /* [classes]: the vectors of each */
    bool is_one_class;            /* a regressor gives 1 above 0, else -1 */
};
NODISCARD int ml_svm_read(const struct node *node, struct ml_svm *ret_svm, struct error *err);

/* A list of numbers for columns: one for all columns, or one per column. NULL and 0 if absent. */
const float *ml_numbers(const struct node *node, const char *name, size_t *ret_count);

NODISCARD int infer_ml_trees(const struct node *node, const struct fact *const *inputs,
                             struct fact *outputs, struct error *err);
NODISCARD int infer_ml_linear(const struct node *node, const struct fact *const *inputs,
                              struct fact *outputs, struct error *err);
NODISCARD int infer_ml_svm(const struct node *node, const struct fact *const *inputs,
                           struct fact *outputs, struct error *err);
/* Scaler, Normalizer: the output is float32 with the input's shape. */
NODISCARD int infer_ml_float(const struct node *node, const struct fact *const *inputs,
                             struct fact *outputs, struct error *err);
NODISCARD int infer_ml_imputer(const struct node *node, const struct fact *const *inputs,
                               struct fact *outputs, struct error *err);
/* The type of a LabelEncoder's values. */
enum tensor_type ml_label_type(const struct node *node);
NODISCARD int infer_ml_label_encoder(const struct node *node, const struct fact *const *inputs,
                                     struct fact *outputs, struct error *err);
NODISCARD int infer_ml_one_hot(const struct node *node, const struct fact *const *inputs,
                               struct fact *outputs, struct error *err);
NODISCARD int infer_ml_vectorizer(const struct node *node, const struct fact *const *inputs,
                                  struct fact *outputs, struct error *err);
NODISCARD int infer_ml_extractor(const struct node *node, const struct fact *const *inputs,
                                 struct fact *outputs, struct error *err);
