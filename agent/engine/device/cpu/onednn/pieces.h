/* pieces.h: a convolution, or a gradient of one, of a batch in pieces of equal size, which threads
 * take one after the other. How many depends on the shapes alone, and sums over pieces are added in
 * their order: results do not depend on threads. */
#pragma once

#include "agent/engine/device/cpu/onednn/primitive.h"

struct pieces;

/* How many pieces the step's batch is cut into; 1: it is not, and pieces are not to be used (other
 * operators; a constant among the operands, which has its own order). */
int pieces_count(const struct schedule *schedule, const struct step *step);
/* Like primitive_new; the slots' shapes are changed for as long as it takes. */
NODISCARD dnnl_status_t pieces_new(struct onednn *onednn, struct schedule *schedule,
                                   const struct step *step, request_fill *fill,
                                   const struct request_wish *wish, struct pieces **ret_pieces);
void pieces_free(void *state);
size_t pieces_scratch_bytes(const struct pieces *pieces);
NODISCARD dnnl_status_t pieces_run(const struct pieces *pieces, const struct call *call);
