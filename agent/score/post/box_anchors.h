/* box_anchors.h: recognises detectors whose outputs are offsets to anchors (RetinaNet, SCRFD,
 * BlazeFace, YuNet), which need a list of these (anchors.h): they are settings of the training that
 * the network does not have. Pure. */
#pragma once

#include "agent/score/post/post_kind.h"

/* Whether the shapes are those of such a detector: maps of boxes beside maps of scores, boxes of
 * several levels, or boxes with points beside one score for each. */
bool box_anchors_are_needed(const struct post_outputs *outputs);
/* Whether these are the outputs of BlazeFace, which is a form with anchors of its own: 896 rows, or
 * 512 and 384, of a box and six points. */
bool box_anchors_are_blaze_face(const struct post_outputs *outputs);
/* Whether these are the outputs of YuNet, another such form: of three levels classes, objectness
 * and boxes, by their names. */
bool box_anchors_are_yunet(const struct post_outputs *outputs);
