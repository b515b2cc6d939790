/* trainer_norms.h: batch normalization over several ranks. With spec.trainer.syncBatchNorm the
 * graph has sums over the ranks, which are computed here, between its steps; without it, each rank
 * has statistics of its own. A part of trainer_state.h, used by the same files only. */
#pragma once

#include "lib/error.h"

#include <stdint.h>

struct tensor;
struct trainer;

/* How many samples all ranks together compute in a part of a batch of `total`. */
int64_t trainer_part_total(const struct trainer *trainer, int64_t total, int64_t index);
/* Replaces a sum of the graph (training_is_rank_sum) by that of all ranks. Every rank calls this or
 * trainer_join for each, in the graph's order, while no bucket is due. */
NODISCARD int trainer_sum_ranks(struct trainer *trainer, const struct tensor *sum,
                                struct error *err);
/* Takes part in all sums of a graph for which this rank has no samples. */
NODISCARD int trainer_join(struct trainer *trainer, struct error *err);
/* Sets the statistics of norms to the ranks' mean: before evaluations, checkpoints, the result. */
NODISCARD int trainer_average(struct trainer *trainer, struct error *err);
/* Reports to the user that the result depends on the number of ranks, if it does. */
void trainer_say_norms(const struct trainer *trainer);
