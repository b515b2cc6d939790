// SPDX-License-Identifier: Apache-2.0
/* Functions with which several families of operators read their nodes. */
#include "agent/engine/ops/ml/ml.h"

#include "agent/engine/ops/infer/params.h"

#include <assert.h>
#include <string.h>

enum ml_post ml_read_post(const struct node *node) {
    static const char *const names[] = {"NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"};
    static_assert(ARRAY_LEN(names) == ML_POST_COUNT, "one name per transform");
    const char *text = node_text(node, "post_transform", "NONE");
    int post = 0;
    while (strcmp(names[post], text) != 0) { /* its rule has checked that it is one of them */
        post++;
    }
    return (enum ml_post)post;
}

struct ml_labels ml_read_labels(const struct node *node, const char *ints) {
    struct ml_labels labels = {0};
    labels.integers = node_integers(node, ints, &labels.count);
    return labels;
}

int64_t ml_label(const struct ml_labels *labels, size_t index) {
    return labels->integers && index < labels->count ? labels->integers[index] : (int64_t)index;
}

int ml_rows(const struct fact *fact, int64_t *ret_rows, int64_t *ret_columns, struct error *err) {
    const struct shape *shape = &fact->shape;
    if (param_rank(fact, 0, 1, 2, err) < 0) {
        return -1;
    }
    *ret_rows = shape->rank == 1 ? 1 : shape->dims[0];
    *ret_columns = shape->dims[shape->rank - 1];
    return 0;
}

const float *ml_numbers(const struct node *node, const char *name, size_t *ret_count) {
    const struct attribute *attribute = node_attribute(node, name);
    *ret_count = attribute ? attribute->count : 0;
    return *ret_count ? attribute->numbers : NULL;
}

void ml_set_outputs(const struct node *node, bool has_labels, const struct shape *scores,
                    struct fact *outputs) {
    if (has_labels) {
        outputs[0].type = TENSOR_INT64;
        outputs[0].shape = (struct shape){1, {scores->dims[0]}};
    }
    if (has_labels < node->output_count) {
        outputs[has_labels].type = TENSOR_FLOAT32;
        outputs[has_labels].shape = *scores;
    }
}
