/* loss.h: what losses read of scores, labels and targets, in training and over test data: their
 * shapes, and connectionist temporal classification. Implemented in ops/ctc.c and ops/infer/loss.c.
 * Pure; shapes as training_graph.h has them. */
#pragma once

#include "agent/engine/tensor.h"

/* What an output is, judged by the nodes that make it: of any size, of a softmax or its logarithm,
 * or numbers of a sigmoid, each for itself; also behind nodes that only move them. */
enum training_ending {
    TRAINING_LOGITS,
    TRAINING_PROBABILITIES,
    TRAINING_LOG_PROBABILITIES,
    TRAINING_SIGMOIDS
};

/* Scores of a cross entropy, one class for each place (a pixel, a token) of each
 * sample: [samples, classes, places...] as PyTorch has them, or, if only that fits the labels
 * [samples, places...], [samples, places..., classes]. */
struct label_places {
    int64_t samples, places, classes;
    int64_t place_step, class_step; /* in the scores, in elements */
    bool fits_both;                 /* the last axis would have fitted, too */
};
/* ERROR_INVALID names both shapes. */
NODISCARD int loss_places(const struct shape *scores, const struct shape *labels,
                          struct label_places *ret_places, struct error *err);
/* ERROR_INVALID, with both shapes: they are not the same, or not of samples. A loss of numbers must
 * not broadcast: each output would be pulled to the targets of others. */
NODISCARD int loss_check_target(const struct shape *output, const struct shape *target,
                                struct error *err);

/* ---- sequences without places --------------------------------------------------------------- */

/* Connectionist temporal classification (Graves et al., ICML 2006): the loss of a sequence of
 * scores, in which each step is a letter or a blank, and the letters have no known places. As
 * torch.nn.CTCLoss with its default reduction. One sample: */
struct ctc_sample {
    int64_t steps, classes;
    const float *scores; /* [steps, classes]: logits, or logarithms of probabilities */
    int64_t count;       /* of labels */
    const int64_t *labels;
    int64_t blank; /* the class of blanks; no label */
};

/* The steps that the labels need: one each, and a blank between two equal ones. */
int64_t ctc_steps(const struct ctc_sample *sample);
/* Returns -log P(labels), divided by their number (by 1 if there are none); the sample must have
 * enough steps. gradient, [steps, classes]: of the loss times scale, with respect to the scores;
 * NULL: it is not wanted. */
double ctc_loss(const struct ctc_sample *sample, double scale, float *gradient);
/* Whether the best class of each step, without repetitions and blanks, makes the labels. */
bool ctc_is_correct(const struct ctc_sample *sample);

struct ctc_shape {
    int64_t samples, steps, classes, labels, blank;
    int64_t ignored; /* the label that fills short rows; set by the caller */
};
/* ERROR_INVALID: the shapes are not [samples, steps, classes] and [samples, labels], or the blank
 * is beyond the classes. */
NODISCARD int ctc_shape_of(const struct shape *scores, const struct shape *labels, int64_t blank,
                           struct ctc_shape *ret_shape, struct error *err);
/* Copies the labels of a sample, without those that are ignored, to `labels` (room for all) and
 * returns their number. -1: one is the blank or beyond the classes, or the steps are not enough
 * (ERROR_INVALID; `index` is the sample's, for the message). */
NODISCARD int64_t ctc_labels(const struct ctc_shape *shape, const int64_t *from, int64_t index,
                             int64_t *labels, struct error *err);
