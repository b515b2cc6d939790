/* box_anchors.h: recognises detectors whose outputs are offsets to anchors (RetinaNet, SCRFD,
 * YuNet, BlazeFace), which no form of boxes (box_form.h) reads: anchors are settings of the
 * training that the network does not have. Pure. */
#pragma once

#include "agent/score/post/post_kind.h"

/* Whether the shapes are those of such a detector: maps of boxes beside maps of scores, boxes of
 * several levels, or boxes with points beside one score for each. */
bool box_anchors_are_needed(const struct post_outputs *outputs);
