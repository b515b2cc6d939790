/* model_facts.h: what a network takes and gives, as far as names, types, shapes and a run on zeros
 * show it: for `model check`, and for `windlass score`, which runs that. */
#pragma once

#include "agent/engine/session.h"
#include "lib/tree.h"

/* What an item is, and what feeds an input. */
#define FACTS_PICTURE "picture"
#define FACTS_TOKENS "tokens"
#define FACTS_COLUMNS "columns"
#define FACTS_ARRAY "array"
#define FACTS_CONSTANT "constant" /* the same for all items */
#define FACTS_STATE "state"       /* an output of the step before */

/* An object, owned, of a network with inputs and outputs:
 *   items   what an item is
 *   inputs  [{name, type, shape: [-1, 3, 224, 224], from, isDefault: fed so by default, state: the
 *            output that it gets, constant: the value, if its name gives it; of what is given step
 *            by step freeAxes: of a step, size: its numbers, if one is free}]
 *   hasStates   items go through the network step by step
 *   pictures    the fields of preprocess that detectors of its form are trained with, if it has one
 *   ran     whether it ran on zeros; the others are empty if it did not
 *   outputs [{name, type, shape, isProbability: its last axis sums to 1, isUnit: its values are
 *            between 0 and 1, hasLabels: the model names its classes}]
 *   fits    the postprocess types that take its outputs, the likeliest first: {type, isLikely,
 *            outputs: [names]}; of Boxes forms: [names] or needsAnchors instead, or needsColumns,
 *            too; of Text classes: how many, too} */
json_t *model_facts(struct session *session);
