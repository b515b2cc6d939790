/* final_scores.h: what an output of a network is: scores of any size (logits), or the probabilities
 * of a softmax or sigmoid, also where operators behind it only move its numbers. Losses are
 * computed from what is before the softmax or sigmoid. */
#pragma once

#include "agent/engine/graph/builder.h"
#include "agent/engine/training_graph.h"

enum { FINAL_MOVES_MAX = 32 };

struct final_scores {
    enum training_ending scores;
    const struct node *activation; /* the softmax or sigmoid; NULL: scores are logits */
    const struct node *combiner;   /* the last node behind it that computes new numbers of the
                                      probabilities, such as means; NULL: none does */
    size_t move_count;
    const struct node *moves[FINAL_MOVES_MAX]; /* Reshape, Slice, Transpose ...; the last first */
};

/* makers: by value, the node that makes it; -1: none. output: a value. All indices are those of
 * `network`. */
void final_scores_find(const struct graph *network, const int *makers, int output,
                       struct final_scores *ret_scores);
/* Appends the output without its softmax or sigmoid: the same moves of what is before that. Returns
 * the value. */
int final_scores_logits(const struct final_scores *ending, struct builder *builder);
/* ERROR_UNSUPPORTED: this loss of these probabilities would not be the one that is meant; the
 * message names the nodes and the way out. */
NODISCARD int final_scores_check(const struct final_scores *ending, enum training_loss loss,
                                 const char *output, struct error *err);
