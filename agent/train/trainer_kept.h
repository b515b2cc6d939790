/* trainer_kept.h: what outlasts a process of a training: checkpoints and the result
 * (trainer_keep.c), and the network of the best epoch (trainer_best.c). A part of trainer_state.h,
 * used by the same files alone. */
#pragma once

#include "agent/train/best.h"
#include "agent/train/checkpoint.h"

#include <pthread.h>

struct trainer;

/* One tensor of what checkpoints hold. */
struct part {
    char name[CHECKPOINT_NAME_MAX];
    struct shape shape;
    float *data;
    bool is_apart; /* data lies in the device's memory */
};

/* An object that a thread writes while the training goes on. */
struct writer {
    pthread_t thread;
    bool is_running;
    atomic_bool is_done;
    atomic_llong kept_step; /* of the newest whole one; 0: none */
    struct checkpoint checkpoint;
    struct checkpoint_tensor *tensors;
    float *copy; /* of all the tensors' numbers */
    struct checkpoint_place place;
    int keep;
    struct error error; /* of the last write; told once */
};

/* trainer_keep.c. begin: the generation is claimed, the newest checkpoint loaded, and every rank
 * has what rank 0 has. */
NODISCARD int trainer_begin(struct trainer *trainer, struct error *err);
/* Copies the state; a thread writes it. Waits for the one before. Rank 0 alone. */
NODISCARD int trainer_save(struct trainer *trainer, struct error *err);
/* Waits for what is being written; a failure of it is the error. */
NODISCARD int trainer_saved(struct trainer *trainer, struct error *err);
/* The last checkpoint, model.onnx, metrics; five minutes are tried. Rank 0 alone. */
NODISCARD int trainer_finish(struct trainer *trainer, struct error *err);
/* Of that name and shape; NULL: the checkpoint has none. */
const struct checkpoint_tensor *trainer_find_part(const struct checkpoint *checkpoint,
                                                  const struct part *part);
void trainer_say(const struct trainer *trainer, const char *format, ...) PRINTF_LIKE(2, 3);

/* trainer_best.c: the network that is the result where a metric is tuned for (best.h); all of it
 * does nothing where none is. Rank 0 alone keeps it; statistics are the ranks' mean by then. */
NODISCARD int trainer_best_offer(struct trainer *trainer,
                                 const double values[static BEST_METRIC_COUNT], struct error *err);
/* What checkpoints hold of it, on the host; 0 while there is none. */
size_t trainer_best_part_count(const struct trainer *trainer);
void trainer_best_part(struct trainer *trainer, size_t i, struct part *part);
/* As it was when that checkpoint was made: none where that knows none, or one by another goal. */
void trainer_best_take(struct trainer *trainer, const struct checkpoint *checkpoint);
/* By value of the network, in place of the last epoch's; they stay the trainer's. */
void trainer_best_weights(const struct trainer *trainer, const void **weights);
void trainer_best_say(const struct trainer *trainer);
