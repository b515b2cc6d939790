// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/infer/loss.h"

#include "agent/engine/ops/infer/params.h"
#include "agent/engine/training_graph.h"

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
                         "labels must have the shape of input 0 without the class axis");
    }
    if (weights && (weights->shape.rank != 1 || weights->shape.dims[0] != likelihood.classes)) {
        return error_set(err, ERROR_INVALID, "weights: expected shape [%lld], one per class",
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

int loss_check_target(const struct shape *output, const struct shape *target, struct error *err) {
    if (shape_equal(output, target) && output->rank >= 1) {
        return 0;
    }
    char made[128], wanted[128];
    shape_format(output, made);
    shape_format(target, wanted);
    return error_set(err, ERROR_INVALID,
                     "the network's output has the shape %s, and the target %s; the loss needs "
                     "equal shapes, samples x numbers of a sample: change the end of the network "
                     "(Reshape, Unsqueeze) or the targets",
                     made, wanted);
}

/* The labels' dimensions are those of the scores, without `axis`. */
static bool fits(const struct shape *scores, const struct shape *labels, int axis) {
    if (labels->rank < 1 || scores->rank != labels->rank + 1) {
        return false;
    }
    for (int i = 0, k = 0; i < scores->rank; i++) {
        if (i != axis && scores->dims[i] != labels->dims[k++]) {
            return false;
        }
    }
    return true;
}

int loss_places(const struct shape *scores, const struct shape *labels,
                struct label_places *ret_places, struct error *err) {
    bool is_first = fits(scores, labels, 1), is_last = fits(scores, labels, scores->rank - 1);
    if (!is_first && !is_last) {
        char text[128], other[128];
        shape_format(scores, text);
        shape_format(labels, other);
        return error_set(err, ERROR_INVALID,
                         "cross entropy needs [samples, classes, places...] or [samples, "
                         "places..., classes] and labels [samples, places...], not %s and %s",
                         text, other);
    }
    struct label_places places = {.samples = labels->dims[0],
                                  .places = 1,
                                  .fits_both = is_first && is_last && scores->rank > 2};
    for (int i = 1; i < labels->rank; i++) {
        places.places *= labels->dims[i];
    }
    places.classes = scores->dims[is_first ? 1 : scores->rank - 1];
    places.place_step = is_first ? 1 : places.classes;
    places.class_step = is_first ? places.places : 1;
    *ret_places = places;
    return 0;
}
