/* ml.h: the operators of ai.onnx.ml, the classical models: trees, linear ones, and what is done to
 * a table's columns before them. Source: ONNX's Operators-ml.md, versions 1 to 4 of the domain;
 * where it is vague ONNX Runtime's ways, but for what is said here and in ml_scores.h.
 *
 * Inputs are rows [n, features]; one dimension alone is one row. Labels are int64; texts are
 * numbers of graph->texts (engine/onnx/text_values.h), so that nothing here knows of them. */
#pragma once

#include "agent/engine/graph.h"

/* The version of the domain that we know last. */
enum { ML_VERSION_MAX = 5, ML_TARGETS_MAX = 1 << 16 };

/* The row for an operator in a version of the domain; NULL: not supported. */
const struct op *ml_table_find(const char *name, int version);
const struct op *ml_table_row(size_t index); /* NULL when index is past the last */

/* Whether the node's attributes fit together: what no rule of one attribute alone can say. Without
 * the input, so a model is refused when it is loaded. Trees are compiled then, and node->made is
 * what they became, which ends with the arena. */
NODISCARD int ml_check(struct node *node, struct arena *arena, struct error *err);

enum ml_post {
    ML_POST_NONE,
    ML_POST_LOGISTIC,
    ML_POST_SOFTMAX,
    ML_POST_SOFTMAX_ZERO,
    ML_POST_PROBIT,
    ML_POST_COUNT
};
enum ml_post ml_post(const struct node *node); /* post_transform; its value is one of them */

/* A classifier's classes: as many as it has labels. */
struct ml_labels {
    size_t count;
    const int64_t *integers; /* NULL: none; a label is its number then */
};
/* ints: the name of the attribute with the integers, which is not the same everywhere. */
struct ml_labels ml_labels(const struct node *node, const char *ints);
int64_t ml_label(const struct ml_labels *labels, size_t index);

/* Rows and columns of an input. ERROR_INVALID when it has other than one or two dimensions. */
NODISCARD int ml_rows(const struct fact *fact, int64_t *ret_rows, int64_t *ret_columns,
                      struct error *err);

/* LinearRegressor, LinearClassifier: targets x features coefficients. */
struct ml_linear {
    int64_t targets, features;
    const float *coefficients, *intercepts; /* intercepts NULL: none */
    bool expands; /* a classifier of two classes by one score, whose scores are two nevertheless */
};
NODISCARD int ml_linear_read(const struct node *node, struct ml_linear *ret_linear,
                             struct error *err);

/* A list of numbers for columns: one for all, or one each. NULL and 0 when it is absent. */
const float *ml_numbers(const struct node *node, const char *name, size_t *ret_count);

NODISCARD int infer_ml_trees(const struct node *node, const struct fact *const *inputs,
                             struct fact *outputs, struct error *err);
NODISCARD int infer_ml_linear(const struct node *node, const struct fact *const *inputs,
                              struct fact *outputs, struct error *err);
/* Scaler, Normalizer: float32 of the input's shape. */
NODISCARD int infer_ml_float(const struct node *node, const struct fact *const *inputs,
                             struct fact *outputs, struct error *err);
NODISCARD int infer_ml_imputer(const struct node *node, const struct fact *const *inputs,
                               struct fact *outputs, struct error *err);
/* Of a LabelEncoder's values. */
enum tensor_type ml_label_type(const struct node *node);
NODISCARD int infer_ml_label_encoder(const struct node *node, const struct fact *const *inputs,
                                     struct fact *outputs, struct error *err);
NODISCARD int infer_ml_one_hot(const struct node *node, const struct fact *const *inputs,
                               struct fact *outputs, struct error *err);
NODISCARD int infer_ml_vectorizer(const struct node *node, const struct fact *const *inputs,
                                  struct fact *outputs, struct error *err);
NODISCARD int infer_ml_extractor(const struct node *node, const struct fact *const *inputs,
                                 struct fact *outputs, struct error *err);
