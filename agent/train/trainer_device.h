/* trainer_device.h: memory of the device, the block of all gradients in it, and what all ranks sum.
 * A part of trainer_state.h, used by the same files only. */
#pragma once

#include "agent/comm/reducer.h"
#include "agent/engine/graph.h"

struct trainer;

/* The only place where device memory is allocated, read and written. count:
 * floats. trainer_free_memory frees what `weights` and `gradients` point to. */
NODISCARD int trainer_device_floats(struct trainer *trainer, size_t count, float **ret,
                                    struct error *err);
NODISCARD int trainer_device_write(const struct trainer *trainer, float *to, const float *from,
                                   size_t count, struct error *err);
NODISCARD int trainer_device_read(const struct trainer *trainer, float *to, const float *from,
                                  size_t count, struct error *err);
/* For reducer_set_ops (reducer.h): the functions by which the reducer awaits and sums buckets whose
 * memory is on this device; NULL if it is host memory. */
NODISCARD int trainer_make_reducer_ops(struct trainer *trainer, struct reducer_ops *ret_ops,
                                       struct error *err);
/* All steps that compute the bucket's gradients were started: the reducer may sum it. */
NODISCARD int trainer_bucket_due(struct trainer *trainer, size_t bucket, struct error *err);
void trainer_free_memory(struct trainer *trainer);

/* A graph over the block, prepared when it is first used. */
struct block_pass {
    struct graph graph;
    struct training *training; /* NULL: not yet */
};

/* All gradients as one vector: the buckets' memory up to the piggybacked scalars. */
struct gradient_block {
    struct block_pass norm, sum;
    float *kept; /* device memory: the sum of the parts of a step so far; NULL: one part */
};

/* For a step of several parts (gradientAccumulationSteps), after each of them:
 * after the last, `gradients` holds the sum of all, otherwise `kept` does. */
NODISCARD int trainer_sum_part(struct trainer *trainer, bool is_first, bool is_last,
                               struct error *err);
/* After the sums over the ranks: sets the factor of clipNorm. FAILED, on all ranks: the norm is not
 * finite. */
NODISCARD int trainer_clip(struct trainer *trainer, struct error *err);
void trainer_free_block(struct trainer *trainer);

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
/* Says if the result depends on the number of ranks. */
void trainer_say_norms(const struct trainer *trainer);
