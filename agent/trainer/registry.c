// SPDX-License-Identifier: Apache-2.0
/* What windlass-trainer has: as agent/comm/registry.c, with Open MPI, and of agent/registry.c the
 * pictures alone: it reads no video and scores nothing, and so needs no libavcodec (200 MB). */
#include "agent/comm/comm.h"
#include "agent/data/image/image.h"
#include "agent/score/worker/scorer.h"

#include <stddef.h>

const struct comm_kind *const comm_kinds[] = {&comm_mpi, &comm_nccl, &comm_single, NULL};
const struct media *const media_kinds[] = {NULL};
const struct scorer_kind *const scorer_kinds[] = {NULL};
const struct image_codec *const image_codecs[] = {&image_jpeg, &image_png, NULL};
