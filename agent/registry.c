// SPDX-License-Identifier: Apache-2.0
/* The kinds of inputs, scorers and pictures that this program has: what is linked is what there is
 * (agent/shim/registry.c: windlass-shim's). */
#include "agent/data/image/image.h"
#include "agent/data/kinds/files.h"
#include "agent/data/kinds/npy_input.h"
#include "agent/data/kinds/table.h"
#include "agent/data/kinds/video.h"
#include "agent/score/scorer/scorer.h"

const struct media *const media_kinds[] = {&video_media, &files_media, &table_media, &npy_media,
                                           NULL};
const struct scorer_kind *const scorer_kinds[] = {&scorer_onnx, &scorer_command, &scorer_endpoint,
                                                  NULL};
const struct image_codec *const image_codecs[] = {&image_jpeg, &image_png, NULL};
