/* trainer_heads.h: the losses of a training, one for each output of the network. A part of
 * trainer_state.h, used by the same files only. */
#pragma once

#include "agent/engine/training_graph.h"
#include "agent/train/dataset/loader.h"
#include "agent/train/loss/host_loss.h"

enum { HEADS_MAX = TRAINING_LOSSES_MAX, HEAD_TEXT_MAX = HEADS_MAX * 120 };

/* Piggybacked scalars: numbers that are appended to the last bucket of gradients, so that the same
 * call sums them over the ranks. SAVE, LEAVE: the number of ranks that request a checkpoint, or to
 * stop. BAD: bad samples of the step. LOSS is the sum of all losses, CORRECT of the one of which
 * accuracy is; of several losses, loss and correct samples of each follow. */
enum scalar { SCALAR_LOSS, SCALAR_CORRECT, SCALAR_SAVE, SCALAR_LEAVE, SCALAR_BAD, SCALAR_COUNT };
enum { SCALARS_MAX = SCALAR_COUNT + 2 * HEADS_MAX };

/* The loss of an output, in the order of the network's outputs. */
struct trainer_head {
    const char *name; /* the output; borrowed from the network; NULL: the only loss (spec.loss) */
    struct criterion criterion;
    double weight;
    int source;  /* of its targets: 0: the sample's own, 1 + i: extra i */
    float scale; /* of the step: weight / counted.weight, or 0; an input of the graph */
    struct criterion_count counted; /* of the step's batch, over all ranks */
};

/* Of one loss, of several: sums over the batches of the epoch so far, and in checkpoints. The mean
 * is loss / weight, the accuracy correct / places. */
struct head_sums {
    double loss, weight, correct, places;
};

struct trainer;

/* How many scalars: those of several losses are there if there are several (trainer_state.c). */
size_t trainer_scalar_count(const struct trainer *trainer);
/* trainer_heads.c. Reads spec.loss or spec.losses for the network's outputs, and finds the targets
 * of each; then trainer->heads are known. INVALID names field and output: an output without a loss
 * or without targets, a loss or targets without an output, classes where numbers are expected. */
NODISCARD int trainer_read_heads(struct trainer *trainer, const json_t *spec, struct error *err);
/* Fills in the losses; `further` has room for HEADS_MAX. */
void trainer_head_options(const struct trainer *trainer, struct training_options *further,
                          struct training_options *options);
/* The target's type, and its shape for no samples. */
struct tensor trainer_head_target(const struct trainer *trainer, size_t head);
/* Its target in a batch: labels or numbers. */
void *trainer_head_data(const struct trainer *trainer, size_t head, const struct batch *batch);
/* What the head's output for a test batch is compared with. */
struct host_loss_batch trainer_head_compared(const struct trainer *trainer, size_t head,
                                             const struct batch *batch);
/* By how much this rank's samples of a batch count for a loss of several. */
struct criterion_count trainer_head_count(const struct trainer *trainer, size_t head,
                                          const struct batch *batch);
/* After a step: adds its losses to the sums of the epoch, if there are several. */
void trainer_add_heads(struct trainer *trainer);
/* Each loss by its name, for people: "kind 0.31 (accuracy 0.9), age 1.2"; sums: of each. */
void trainer_format_heads(const struct trainer *trainer, const struct head_sums *sums,
                          char text[static HEAD_TEXT_MAX]);
/* Sends each loss of several for the job's status (latest_metrics.h). */
void trainer_send_heads(const struct trainer *trainer);
