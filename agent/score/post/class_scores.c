// SPDX-License-Identifier: Apache-2.0
#include "agent/score/post/class_scores.h"

#include <math.h>
#include <string.h>

static const char *const names[] = {"Raw", "Softmax", "Sigmoid"};
_Static_assert(ARRAY_LEN(names) == CLASS_SCORES_COUNT, "a name for each");

enum class_scores class_scores_read(const json_t *spec, enum class_scores fallback) {
    const char *name = tree_text(spec, "scorer.onnx.postprocess.scores", NULL);
    for (int i = 0; name && i < CLASS_SCORES_COUNT; i++) {
        if (strcmp(names[i], name) == 0) {
            return (enum class_scores)i;
        }
    }
    return fallback;
}

void class_scores_apply(enum class_scores how, float *values, int64_t count) {
    double highest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < count; i++) {
        highest = MAX(highest, (double)values[i]);
    }
    for (int64_t i = 0; i < count && how == CLASS_SCORES_SOFTMAX; i++) {
        sum += exp((double)values[i] - highest);
    }
    for (int64_t i = 0; i < count && how != CLASS_SCORES_RAW; i++) {
        double value = (double)values[i];
        values[i] = how == CLASS_SCORES_SOFTMAX ? (float)(exp(value - highest) / sum)
                                                : (float)(1 / (1 + exp(-value)));
    }
}
