// SPDX-License-Identifier: Apache-2.0
/* The kinds of inputs and scorers that this program has: what is linked is what there is. */
#include "agent/data/files.h"
#include "agent/data/video.h"
#include "agent/score/scorer.h"

const struct media *const media_kinds[] = {&video_media, &files_media, NULL};
const struct scorer_kind *const scorer_kinds[] = {&scorer_onnx, &scorer_command, NULL};
