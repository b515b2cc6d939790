/* trainer_state.h: shared by the files of the trainer, and used by them only. Parts of this header:
 * trainer_device.h (memory of the device), _gradients.h (accumulation, clipping), _norms.h (batch
 * normalization over ranks), _heads.h (losses), _kept.h (checkpoints, the best network). */
#pragma once

#include "agent/comm/reducer.h"
#include "agent/engine/device.h"
#include "agent/engine/model.h"
#include "agent/engine/training.h"
#include "agent/train/dataset/loader.h"
#include "agent/train/optimizer/optimizer.h"
#include "agent/train/optimizer/rate.h"
#include "agent/train/record/metrics_log.h"
#include "agent/train/record/timeline.h"
#include "agent/train/trainer.h"
#include "agent/train/trainer_device.h"
#include "agent/train/trainer_gradients.h"
#include "agent/train/trainer_heads.h"
#include "agent/train/trainer_kept.h"
#include "agent/train/trainer_norms.h"

#define RESULT_MODEL "model.onnx" /* in the output */

/* A training graph prepared for one number of samples. */
struct prepared_graph {
    int64_t samples; /* 0: not yet */
    struct training *training;
    size_t *due; /* [buckets.count]: index of the step of the schedule (schedule.h) after which all
                    gradients of the bucket are computed */
};
/* A whole batch, and the last one of an epoch; in parts, whose sizes differ by one, two of each. */
enum { PREPARED_MAX = 4 };

struct trainer {
    const struct train_job *job;
    struct train_job own_job; /* the same, with the paths of this run; its trainer is `spec` */
    json_t *spec;
    struct comm *comm;
    /* the network */
    struct model *model; /* spec.model.path; NULL: a new one */
    struct forms forms;  /* what forms_normalize has changed in the network of `model` */
    struct graph made;   /* the new network, or that; `network` is it */
    struct graph *network;
    int opset;
    struct training_graph graph; /* forward, loss and gradients */
    struct graph evaluation;     /* the network with weights and statistics as inputs */
    struct device *device;
    /* data */
    struct dataset *train, *test; /* test: may be NULL, as is bad_test */
    struct bad_samples *bad_train, *bad_test;
    struct augment augment;
    struct loader *loader;
    struct trainer_head heads[HEADS_MAX]; /* the losses; one for each output of the network */
    size_t head_count;
    int accuracy_head; /* the one of which accuracy is: the first one of classes; -1: none */
    struct training_options options; /* of `graph`; `freeze` is valid only while it is built */
    /* time */
    int64_t batch_size, epochs, epoch_steps, total_steps, step; /* step: training steps done */
    uint64_t seed;
    struct rate rate;
    int64_t save_every_ms, saved_ms; /* between checkpoints; time of the last one, monotonic */
    /* memory: variables and statistics, in the order of the lists in the graph */
    float **weights; /* [variable_count]; device memory, as gradients and the optimizer's state */
    float **results; /* [variable_count]: what is evaluated and published: `weights`, or their
                        averages (spec.trainer.ema) */
    float **statistics; /* [2 * norm_count]: mean, variance; host memory */
    struct optimizer *optimizer;
    struct buckets buckets;
    float *gradients; /* the buckets' memory */
    struct gradient_block block;
    int64_t parts;  /* of a step: gradientAccumulationSteps */
    bool is_synced; /* syncBatchNorm, with several ranks */
    float share;    /* 1 / samples of the part over all ranks; an input of `graph` if is_synced */
    struct device_event *
        *events;      /* [buckets.count]: gradients are computed; NULL: device->is_host */
    float *staging;   /* host memory for a bucket that is summed there; NULL: not needed */
    size_t *in_order; /* [variable_count]: the variable of each parameter of the optimizer. The
                         optimizer's parameters are in the order of the buckets */
    size_t *first;    /* [buckets.count + 1]: the first parameter of each bucket */
    struct reducer *reducer;
    struct prepared_graph prepared[PREPARED_MAX];  /* of `graph`, for training */
    struct prepared_graph evaluated[PREPARED_MAX]; /* of `evaluation`; without `due` */
    int *sources; /* [network->input_count]: the tensor of a sample that each input takes */
    struct tensor *inputs, *outputs;                       /* of `graph` */
    struct tensor *evaluation_inputs, *evaluation_outputs; /* of `evaluation` */
    int64_t *keys;              /* of dropout, one per sample; NULL: no dropout */
    float scalars[SCALARS_MAX]; /* of the last step, summed */
    /* Of the epoch so far, and in checkpoints: loss / weight, accuracy = correct / places. */
    struct epoch_sums {
        double loss, correct, weight;
    } sums;
    double places;
    struct head_sums head_sums[HEADS_MAX]; /* the same of each loss, if there are several */
    struct bad_sums bad_sums;
    float first_loss; /* of step 1; NAN: not known; in checkpoints, too */
    struct best_goal best_goal;
    struct best best;    /* on rank 0 only */
    float *best_numbers; /* the best network, in host memory (trainer_best.c); NULL: none */
    struct epoch_reports reports; /* on rank 0, with an objective (trainer_reports.c) */
    /* storage */
    struct store *store; /* the output; on rank 0, and on all ranks with a timeline */
    char *prefix;        /* ".windlass/RUN/" */
    bool has_changed[2]; /* the files of data.train, data.test since it began; on rank 0 */
    char *digest;        /* SHA-256, in hex, of the settings and data: see struct checkpoint */
    int64_t generation;  /* the number of this start of the trainer; names of checkpoints have it */
    struct writer writer; /* writes checkpoints in a thread */
    struct metrics_log *metrics;
    int64_t zero_ns; /* clock_monotonic_ns after a barrier of all ranks: time 0 of timelines */
    bool has_timeline;
    struct timeline *timeline; /* NULL: none */
};

/* trainer_state.c: what all files of the trainer use.
 * Prints a line for people, formatted like printf, if this is rank 0. */
void trainer_say(const struct trainer *trainer, const char *format, ...) PRINTF_LIKE(2, 3);
size_t trainer_variable_size(const struct trainer *trainer, size_t variable); /* elements */
/* The running mean (statistic 2i) or variance (2i + 1) of the i-th normalization layer: the index
 * of its constant among the network's values, and its number of elements. */
int trainer_statistic_constant(const struct trainer *trainer, size_t statistic);
size_t trainer_statistic_size(const struct trainer *trainer, size_t statistic);
/* The checkpoint's tensor with the name and shape of `wanted`; NULL: it has none. */
const struct checkpoint_tensor *trainer_find_tensor(const struct checkpoint *checkpoint,
                                                    const struct trainer_tensor *wanted);

/* trainer_open.c: reads the spec, opens data and model, builds the graphs, allocates weights.
 * `trainer` is zero, except for job and comm. INVALID: the spec is wrong. */
NODISCARD int trainer_open(struct trainer *trainer, struct error *err);
/* Also after a failure. Not if comm->is_lost: the reducer's thread may still use it. */
void trainer_close(struct trainer *trainer);

/* trainer_prepare.c: how many samples this rank computes at once, in a whole batch. */
int64_t trainer_part_samples(const struct trainer *trainer);
/* Buckets, optimizer, rates. Once, after trainer_open. */
NODISCARD int trainer_prepare(struct trainer *trainer, struct error *err);
/* The graph prepared for this number of samples: one for full batches, another for the last batch
 * of an epoch. */
NODISCARD int trainer_find_prepared(struct trainer *trainer, int64_t samples,
                                    struct prepared_graph **ret_prepared, struct error *err);
/* trainer_step.c: computes new weights and summed scalars from a batch. */
struct step_request {
    /* This rank requests a checkpoint, or to stop. If one rank requests it, all ranks do it. */
    bool saves, leaves;
    bool is_recorded; /* in the timeline */
};
NODISCARD int trainer_step(struct trainer *trainer, const struct batch *batch,
                           const struct step_request *request, struct error *err);

/* trainer_evaluate.c: both results are NAN without test data. Fails if the loss is not finite. */
NODISCARD int trainer_evaluate(struct trainer *trainer, double *ret_loss, double *ret_accuracy,
                               struct error *err);
