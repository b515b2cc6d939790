// SPDX-License-Identifier: Apache-2.0
/* As agent/registry.c, without what needs libav, oneDNN, CUDA or pictures. */
#include "agent/data/image/image.h"
#include "agent/data/kinds/files.h"
#include "agent/data/kinds/table.h"
#include "agent/score/scorer/scorer.h"

const struct media *const media_kinds[] = {&files_media, &table_media, NULL};
const struct scorer_kind *const scorer_kinds[] = {&scorer_command, NULL};
const struct image_codec *const image_codecs[] = {NULL};
