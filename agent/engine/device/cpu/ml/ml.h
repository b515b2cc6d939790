/* ml.h: kernels of ai.onnx.ml (agent/engine/ops/ml/ml.h), and what they have in common. Sums are in
 * float64, rounded once: ONNX Runtime's are float32 in the order of the trees, so scores differ in
 * their last bits. */
#pragma once

#include "agent/engine/device/kernel.h"
#include "agent/engine/ops/ml/ml_tree.h"

extern const struct kernel reference_ml_binarizer, reference_ml_extractor, reference_ml_imputer,
    reference_ml_label_encoder, reference_ml_linear, reference_ml_normalizer, reference_ml_one_hot,
    reference_ml_scaler, reference_ml_trees, reference_ml_vectorizer;

/* Makes a step of trees walk what was compiled when the model was read, fast where ml_forest.h can
 * (made by a model's first plan, for all of them); leaves other steps as they are. */
NODISCARD int trees_step_try(struct step *step, struct error *err);

/* Elements first..first + count - 1 as models compare them: integers are rounded to float32. */
void ml_read(const struct tensor *tensor, int64_t first, int64_t count, double *ret_values);

/* Scores [count] -> the output, through the transform. Of a single score SOFTMAX and SOFTMAX_ZERO
 * leave what it is; LOGISTIC and PROBIT hold for it, too (ONNX Runtime forgets LOGISTIC there).
 * PROBIT is exact; ONNX Runtime's is within 0.003. */
void ml_scores(enum ml_post post, const double *scores, int64_t count, float *ret_scores);

/* Two classes by one score: that of the second one; the first one's is 1 - s where is_share is
 * true, else -s; with LOGISTIC the logistic of -s and s, which ONNX Runtime forgets where no weight
 * is below 0. */
void ml_scores_of_two(enum ml_post post, double score, bool is_share, float ret_scores[2]);

/* From the sums of a row's weights, [target_count], which are changed: AVERAGE's division and base
 * values (of targets that no tree weighs, too, where ONNX Runtime has 0), then a regressor's
 * targets, or a classifier's scores and its label. label and scores may be NULL. The label is of
 * the sums as float32 has them: the highest one's class, of equal ones the first; of two classes by
 * one score the second one's above 0.5 (no weight below 0, no LOGISTIC), else above 0. */
void ml_finish(const struct trees *trees, double *sums, int64_t *label, float *scores);
