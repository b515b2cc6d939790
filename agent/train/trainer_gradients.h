/* trainer_gradients.h: all gradients of a step as one vector: gradient accumulation (their sum over
 * the parts of a step) and clipping by their norm (clipNorm; optimizer.c scales by it, and applies
 * clipValue). A part of trainer_state.h, used by the same files only. */
#pragma once

#include "agent/engine/graph.h"

struct trainer;
struct training;

/* A graph over the vector, prepared when it is first used. */
struct block_pass {
    struct graph graph;
    struct training *training; /* NULL: not yet */
};

/* All gradients as one vector: the buckets' memory up to the piggybacked scalars. */
struct gradient_block {
    struct block_pass norm, sum;
    float *kept;         /* device memory: the sum of the parts of a step so far; NULL: one part */
    int64_t check_every; /* steps between comparisons of the ranks' numbers; 0: none */
    int64_t begun_step;  /* `step` before the first one of this start */
};

/* For a step of several parts (gradientAccumulationSteps), after each of them:
 * after the last, `gradients` holds the sum of all, otherwise `kept` does. */
NODISCARD int trainer_sum_part(struct trainer *trainer, bool is_first, bool is_last,
                               struct error *err);
/* After the sums over the ranks: computes the norm, from which optimizer_scale sets the factor of
 * clipNorm. FAILED, on all ranks: the norm is not finite. */
NODISCARD int trainer_clip(struct trainer *trainer, struct error *err);
void trainer_free_block(struct trainer *trainer);

/* spec.trainer.checkEvery: compares checksums of the summed gradients of the last step and of the
 * weights among all ranks, which compute both from the same numbers; is_averaged: also of the
 * statistics. UNAVAILABLE (another round may be right), on all ranks: they differ; the message
 * names rank, step and tensor. Weights are compared only if all ranks compute with the same
 * instructions, since others round otherwise. Does nothing for one rank, or if checkEvery is 0. */
NODISCARD int trainer_compare(struct trainer *trainer, bool is_averaged, struct error *err);
/* Whether it is due after this step. */
bool trainer_compare_is_due(const struct trainer *trainer);
