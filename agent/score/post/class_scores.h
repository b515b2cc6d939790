/* class_scores.h: what a network's numbers for classes become, as
 * spec.scorer.onnx.postprocess.scores says. Pure. */
#pragma once

#include "lib/tree.h"

enum class_scores {
    CLASS_SCORES_RAW,     /* the network's own */
    CLASS_SCORES_SOFTMAX, /* probabilities, where one class is right */
    CLASS_SCORES_SIGMOID, /* where several may be */
    CLASS_SCORES_COUNT
};

enum class_scores class_scores_read(const json_t *spec, enum class_scores fallback);
/* NaN stays NaN, with SOFTMAX in all of them. */
void class_scores_apply(enum class_scores how, float *values, int64_t count);
