// SPDX-License-Identifier: Apache-2.0
/* The registries of windlass-trainer: that of agent/comm/registry.c with Open MPI, and of
 * agent/registry.c only pictures. The trainer does not read video or score, so it does not need
 * libavcodec (200 MB). */
#include "agent/comm/comm.h"
#include "agent/data/image/image.h"
#include "agent/score/scorer/scorer.h"

#include <stddef.h>

const struct comm_kind *const comm_kinds[] = {&comm_mpi, &comm_nccl, &comm_single, NULL};
const struct media *const media_kinds[] = {NULL};
const struct scorer_kind *const scorer_kinds[] = {NULL};
const struct image_codec *const image_codecs[] = {&image_jpeg, &image_png, NULL};
