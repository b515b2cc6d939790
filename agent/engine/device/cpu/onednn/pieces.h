/* pieces.h: a convolution, or a gradient of one, whose batch is divided into pieces of equal size,
 * which threads take one after the other. The number of pieces depends only on the shapes, and sums
 * over pieces are added in order, so results do not depend on the number of threads. */
#pragma once

#include "agent/engine/device/cpu/onednn/primitive.h"

struct pieces;

/* The number of pieces of the step's batch; 1: pieces must not be used (other operators; a constant
 * operand, which is reordered separately). */
int pieces_count(const struct schedule *schedule, const struct step *step);
/* Like primitive_new; it changes the slots' shapes temporarily. */
NODISCARD dnnl_status_t pieces_new(struct onednn *onednn, struct schedule *schedule,
                                   const struct step *step, request_fill *fill,
                                   const struct request_options *options,
                                   struct pieces **ret_pieces);
void pieces_free(void *state);
size_t pieces_scratch_bytes(const struct pieces *pieces);
NODISCARD dnnl_status_t pieces_run(const struct pieces *pieces, const struct call *call);
