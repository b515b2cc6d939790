/* ml.h: kernels of ai.onnx.ml (agent/engine/ops/ml/ml.h), and functions that they share. Sums are
 * float64 and rounded once; ONNX Runtime sums in float32 in the order of the trees, so scores
 * differ in the last bits. */
#pragma once

#include "agent/engine/device/kernel.h"
#include "agent/engine/ops/ml/ml_tree.h"

extern const struct kernel reference_ml_binarizer, reference_ml_extractor, reference_ml_imputer,
    reference_ml_label_encoder, reference_ml_linear, reference_ml_normalizer, reference_ml_one_hot,
    reference_ml_scaler, reference_ml_svm, reference_ml_trees, reference_ml_vectorizer;

/* Makes a step of trees use the trees that were compiled when the model was read, or the fast
 * forest of ml_forest.h where that is possible (made by the first plan of a model, for all plans).
 * Does not change other steps. */
NODISCARD int cpu_ml_trees_try(struct step *step, struct error *err);

/* Reads elements first..first + count - 1 as models compare them: integers are rounded to
 * float32. */
void cpu_ml_read(const struct tensor *tensor, int64_t first, int64_t count, double *ret_values);

/* Applies the transform to scores [count]. SOFTMAX and SOFTMAX_ZERO do not change a single score;
 * LOGISTIC and PROBIT do (ONNX Runtime does not apply LOGISTIC there). PROBIT is exact; that of
 * ONNX Runtime has an error of up to 0.003. */
void cpu_ml_scores(enum ml_post post, const double *scores, int64_t count, float *ret_scores);

/* Two classes with one score s, that of the second class. The first class gets 1 - s if is_share,
 * else -s. With LOGISTIC they get the logistic of -s and s; ONNX Runtime does not apply it if no
 * weight is negative. */
void cpu_ml_scores_of_two(enum ml_post post, double score, bool is_share, float ret_scores[2]);

/* Computes the results of a row from the sums of its weights, [target_count], which are changed.
 * Divides for AVERAGE and adds the base values (also for targets without weights, where ONNX
 * Runtime gives 0), then computes a regressor's targets, or a classifier's scores and label. label
 * and scores may be NULL. The label is chosen by the sums rounded to float32: the class of the
 * highest one, the first of equal ones. For two classes with one score it is the second class if
 * the score is above 0.5 (no negative weight, no LOGISTIC) or above 0 (otherwise). */
void cpu_ml_finish(const struct ml_trees *trees, double *sums, int64_t *label, float *scores);
