// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/infer/loss.h"

#include "agent/engine/ops/infer/params.h"

#include <string.h>

int likelihood_params(const struct node *node, const struct shape *x,
                      struct likelihood *ret_likelihood, struct error *err) {
    const char *reduction = node_text(node, "reduction", "mean");
    struct likelihood likelihood = {.places = 1,
                                    .reduction = strcmp(reduction, "mean") == 0  ? LIKELIHOOD_MEAN
                                                 : strcmp(reduction, "sum") == 0 ? LIKELIHOOD_SUM
                                                                                 : LIKELIHOOD_NONE,
                                    .has_ignored = node_attribute(node, "ignore_index"),
                                    .ignored = node_integer(node, "ignore_index", 0)};
    if (x->rank < 2) {
        return error_set(err, ERROR_INVALID, "input 0 must have samples and classes");
    }
    likelihood.samples = x->dims[0];
    likelihood.classes = x->dims[1];
    for (int i = 2; i < x->rank; i++) {
        likelihood.places *= x->dims[i];
    }
    *ret_likelihood = likelihood;
    return 0;
}

int infer_likelihood_loss(const struct node *node, const struct fact *const *inputs,
                          struct fact *outputs, struct error *err) {
    const struct shape *x = &inputs[0]->shape, *labels = &inputs[1]->shape;
    const struct fact *weights = param_input(node, inputs, 2);
    struct likelihood likelihood;
    if (likelihood_params(node, x, &likelihood, err) < 0) {
        return -1;
    }
    bool fits = labels->rank == x->rank - 1;
    for (int i = 0; fits && i < labels->rank; i++) {
        fits = labels->dims[i] == x->dims[i ? i + 1 : 0];
    }
    if (!fits) {
        return error_set(err, ERROR_INVALID,
                         "labels must have the shape of input 0 but the classes");
    }
    if (weights && (weights->shape.rank != 1 || weights->shape.dims[0] != likelihood.classes)) {
        return error_set(err, ERROR_INVALID, "the weights must be one a class, %lld",
                         (long long)likelihood.classes);
    }
    outputs[0].shape =
        likelihood.reduction == LIKELIHOOD_NONE ? *labels : (struct shape){.rank = 0};
    if (node->output_count > 1) { /* the logarithms of the probabilities */
        outputs[1].shape = *x;
        outputs[1].type = inputs[0]->type;
    }
    return 0;
}
