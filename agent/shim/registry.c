// SPDX-License-Identifier: Apache-2.0
/* As agent/registry.c, without all that wants libav, oneDNN, CUDA or pictures. */
#include "agent/data/files.h"
#include "agent/data/image.h"
#include "agent/data/table.h"
#include "agent/score/scorer.h"

const struct media *const media_kinds[] = {&files_media, &table_media, NULL};
const struct scorer_kind *const scorer_kinds[] = {&scorer_command, NULL};
const struct image_codec *const image_codecs[] = {NULL};
