/* trainer_state.h: what the files of the trainer share: trainer.c (life, the loop),
 * trainer_open.c (model, data, memory), _prepare.c (buckets, optimizer), _step.c (one step),
 * _device.c, _evaluate.c, _keep.c (checkpoints, results), _best.c. Used by them alone. */
#pragma once

#include "agent/comm/reducer.h"
#include "agent/engine/device.h"
#include "agent/engine/model.h"
#include "agent/engine/training.h"
#include "agent/train/dataset/loader.h"
#include "agent/train/metrics.h"
#include "agent/train/optimizer.h"
#include "agent/train/rate.h"
#include "agent/train/timeline.h"
#include "agent/train/trainer.h"
#include "agent/train/trainer_kept.h"

#define RESULT_MODEL "model.onnx" /* in the output */

/* What rides in the last buffer beside the gradients, summed over the ranks. */
enum ride { RIDE_LOSS, RIDE_CORRECT, RIDE_SAVE, RIDE_LEAVE, RIDE_COUNT };

/* A graph prepared for one number of samples. */
struct prepared {
    int64_t samples; /* 0: not yet */
    struct training *training;
    size_t *due; /* per bucket: the step after which it is due */
};
enum { PREPARED_MAX = 2 }; /* a whole batch, and the last one of an epoch */

struct trainer {
    const struct train_job *job;
    struct comm *comm;
    /* the network */
    struct model *model; /* spec.model.path; NULL: made */
    struct graph made;
    const struct graph *network;
    int opset;
    struct training_graph graph;
    struct graph evaluation; /* the network with weights and statistics as inputs */
    struct device *device;
    /* data */
    struct dataset *train, *test; /* test: NULL without */
    struct augment augment;
    struct loader *loader;
    struct training_options loss;
    /* time */
    int64_t batch_size, epochs, epoch_steps, total_steps, step; /* step: done */
    uint64_t seed;
    struct rate rate;
    int64_t save_every_ms, saved_ms;
    /* memory: variables and statistics, in the order of the graph's lists */
    float **weights;    /* [variable_count]; of the device, as gradients and what optimizers keep */
    float **statistics; /* [2 * norm_count]: mean, variance; of the host */
    struct optimizer *optimizer;
    struct buckets buckets;
    float *gradients;           /* the buckets' memory */
    struct device_mark **marks; /* [buckets.count]: that they are made; NULL where is_host */
    float *staging;             /* host memory for a bucket that is summed there; NULL: none is */
    size_t *in_order; /* parameter of the optimizer -> variable: as they lie in the buckets */
    size_t *first;    /* [buckets.count + 1]: the first parameter of each bucket */
    struct reducer *reducer;
    struct prepared prepared[PREPARED_MAX], evaluated[PREPARED_MAX];
    struct tensor *inputs, *outputs; /* of a step; of an evaluation */
    struct tensor *evaluation_inputs, *evaluation_outputs;
    float scale;
    int64_t *keys;           /* of dropout, one a sample; NULL without any */
    float rides[RIDE_COUNT]; /* of the last step, summed */
    /* Of the epoch so far, over samples; kept in checkpoints, as half an epoch has no other. */
    struct epoch_sums {
        double loss, correct, samples;
    } sums;
    struct best_goal best_goal;
    struct best best;    /* of rank 0; of the others there is none, ever */
    float *best_numbers; /* its network, on the host (trainer_best.c); NULL: none */
    /* what is kept */
    struct store *store; /* the output; of rank 0, and of all with a timeline */
    char *prefix;        /* ".windlass/RUN/" */
    char *digest;
    int64_t generation;
    struct writer writer;
    struct metrics *metrics;
    int64_t zero_ns; /* clock_monotonic_ns of a moment that the ranks share */
    bool has_timeline;
    struct timeline *timeline; /* NULL: none */
};

/* trainer_open.c */
NODISCARD int trainer_open(struct trainer *trainer, struct error *err);
void trainer_close(struct trainer *trainer);
size_t variable_count_of(const struct trainer *trainer, size_t variable); /* elements */
/* The network's constant behind statistics 2i (mean) and 2i + 1 (variance) of norm i. */
int statistic_value(const struct trainer *trainer, size_t statistic);
size_t statistic_count_of(const struct trainer *trainer, size_t statistic); /* elements */

/* trainer_prepare.c: buckets, optimizer, rates. */
NODISCARD int trainer_prepare(struct trainer *trainer, struct error *err);
/* The prepared graph for so many samples: whole batches have one, the epoch's last another. */
NODISCARD int trainer_find_prepared(struct trainer *trainer, int64_t samples,
                                    struct prepared **ret_prepared, struct error *err);
/* trainer_device.c: the one place where device memory is allocated, read and written. */
NODISCARD int device_numbers(struct trainer *trainer, size_t count, float **ret, struct error *err);
NODISCARD int device_write(const struct trainer *trainer, float *to, const float *from,
                           size_t count, struct error *err);
NODISCARD int device_read(const struct trainer *trainer, float *to, const float *from, size_t count,
                          struct error *err);
/* How the reducer gets at the buckets. */
NODISCARD int trainer_make_way(struct trainer *trainer, struct reducer_way *ret_way,
                               struct error *err);
/* The steps that were started make the bucket: it is due. */
NODISCARD int trainer_bucket_due(struct trainer *trainer, size_t bucket, struct error *err);
void trainer_free_memory(struct trainer *trainer);
/* trainer_step.c: batch -> new weights; rides. */
struct step_wish {
    bool saves, leaves; /* of this rank; what any wants, all do */
    bool is_recorded;   /* in the timeline */
};
NODISCARD int trainer_step(struct trainer *trainer, const struct batch *batch,
                           const struct step_wish *wish, struct error *err);
/* The statistics of norms become the ranks' mean. */
NODISCARD int trainer_average(struct trainer *trainer, struct error *err);

/* trainer_evaluate.c: over the test data; both NAN without any. A loss that is no number fails. */
NODISCARD int trainer_evaluate(struct trainer *trainer, double *ret_loss, double *ret_accuracy,
                               struct error *err);
