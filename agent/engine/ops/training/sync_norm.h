/* sync_norm.h: batch normalizations over the samples of all ranks. */
#pragma once

#include "agent/engine/graph/builder.h"

/* Replaces each NormTraining by its formula with sums over the ranks (RankSum, internal.h); its
 * outputs are the same values. Returns a new value, `share`, one float32 that is not yet among the
 * inputs: 1 / (samples that all ranks compute at once).
 *
 * The variance is the mean of the squared distances from the mean: the mean of the squares minus
 * the square of the mean would lose digits. So there are two sums forward, and by their gradients
 * two backward (Ioffe, Szegedy, "Batch Normalization", 2015; torch.nn.SyncBatchNorm). */
int sync_norms(struct builder *builder);
