/* trainer_kept.h: the stored state of a training: checkpoints (trainer_keep.c), the result
 * (trainer_result.c), the network of the best epoch (trainer_best.c), and the reports of all epochs
 * (trainer_reports.c). A part of trainer_state.h, used by the same files only. */
#pragma once

#include "agent/store/finished.h"
#include "agent/train/best.h"
#include "agent/train/checkpoint.h"

#include <pthread.h>

/* Bad samples (dataset/bad_samples.h); in checkpoints, too. train: of the epoch so far; most: of a
 * whole epoch, and of the test data. */
struct bad_sums {
    float train, most_train, most_test;
};

/* The metrics of an epoch. NAN: not known. In checkpoints as bytes. */
struct epoch_report {
    double values[BEST_METRIC_COUNT];
};
struct epoch_reports {
    struct epoch_report *all; /* of the epochs from the first; owned */
    size_t count;
};

struct trainer;

/* One tensor of a checkpoint. */
struct trainer_tensor {
    char name[CHECKPOINT_NAME_MAX];
    struct shape shape;
    float *data;
    bool is_device_memory; /* of data */
};

/* An object that a thread writes while the training continues. */
struct writer {
    pthread_t thread;
    bool is_running;
    atomic_bool is_done;
    atomic_llong kept_step; /* of the newest complete one; 0: none */
    struct checkpoint checkpoint;
    struct checkpoint_tensor *tensors;
    float *copy; /* of the elements of all tensors */
    struct checkpoint_location place;
    int keep;
    struct error error; /* of the last write; reported once */
};

/* What the paths of the training led to when it began, in OUT/.windlass/RUN/; and what its data was
 * when it began or last went on. */
#define TRAINER_PATHS "paths.json"
#define TRAINER_DATA "data.json"

/* trainer_paths.c. All ranks, before anything of the spec is opened: replaces the paths of
 * trainer->job that may lead elsewhere (store/moving_paths.h) by what they led to when the training
 * began. INVALID: it has come to its end, and a path leads elsewhere now. */
NODISCARD int trainer_find_paths(struct trainer *trainer, struct error *err);
/* trainer_owner.c. Rank 0 only: claims the output for this job, because two jobs must not share
 * one, or takes it from another one with job->restart, whose results it removes. INVALID: it is
 * another job's, or was begun with other settings, which the error names. */
NODISCARD int trainer_own(const struct trainer *trainer, struct error *err);
/* trainer_paths.c. Rank 0 only: what the data is, as far as trainer->digest does not say it
 * (finished.data). */
enum { TRAINER_DATA_MAX = 33 };
void trainer_describe_data(const struct trainer *trainer, char ret_text[static TRAINER_DATA_MAX]);
/* Rank 0 only, after trainer_own and before the claim. INVALID: another job has brought this
 * training to its end, with other data. */
NODISCARD int trainer_check_data(const struct trainer *trainer, struct error *err);
/* Rank 0 only, after the checkpoint was loaded; goes_on: there was one. Compares the data of the
 * steps that are left with that of the beginning: what has changed since is said, and is in
 * trainer->has_changed from then on, also for later starts. It is not refused: a copy that each pod
 * makes for itself (spec.prepare) has other times of change. */
NODISCARD int trainer_note_data(struct trainer *trainer, bool goes_on, struct error *err);
/* trainer_state.c. Rank 0 only: as finished.bad_samples, so far. */
int64_t trainer_count_bad(const struct trainer *trainer);
/* At the end: notes which data has changed while the training ran. What cannot be looked at is said
 * only. */
void trainer_look_at_data(struct trainer *trainer);
/* As finished.changed. */
void trainer_describe_changed(const struct trainer *trainer,
                              char ret_text[static FINISHED_CHANGED_MAX]);
/* After the claim: removes result.json of an earlier start. */
NODISCARD int trainer_forget_result(const struct trainer *trainer, struct error *err);
/* trainer_keep.c. Claims the generation, loads the newest checkpoint, and copies rank 0's state to
 * every rank. */
NODISCARD int trainer_begin(struct trainer *trainer, struct error *err);
/* Begins to write a checkpoint: copies the state; a thread writes it. Waits for the previous write.
 * Rank 0 only. */
NODISCARD int trainer_save_start(struct trainer *trainer, struct error *err);
/* Waits until the write in progress has ended; its failure is the error. */
NODISCARD int trainer_save_wait(struct trainer *trainer, struct error *err);
/* trainer_result.c. Writes the last checkpoint, model.onnx, metrics and then the record that names
 * them (finished.h); retries for five minutes. If an earlier start has done all that, and the
 * result is still whole, only the record. Rank 0 only. */
NODISCARD int trainer_finish(struct trainer *trainer, struct error *err);

/* trainer_best.c: the best epoch's network, if there is an objective (best.h); otherwise these
 * functions do nothing. Only rank 0 keeps it; statistics are already the ranks' mean. */
NODISCARD int trainer_best_offer(struct trainer *trainer,
                                 const double values[static BEST_METRIC_COUNT], struct error *err);
/* The number of its tensors in checkpoints, in host memory; 0 without a best network yet. */
size_t trainer_best_tensor_count(const struct trainer *trainer);
void trainer_best_tensor(struct trainer *trainer, size_t i, struct trainer_tensor *part);
/* Restores it from the checkpoint; there is none if the checkpoint has none, or one for another
 * goal. */
void trainer_best_take(struct trainer *trainer, const struct checkpoint *checkpoint);
/* Replaces the weights of the last epoch by the best ones. weights: by value of the network; the
 * trainer owns them. */
void trainer_best_weights(const struct trainer *trainer, const void **weights);
/* Logs which epoch's network is the result. */
void trainer_best_report(const struct trainer *trainer);

/* trainer_reports.c: what rank 0 reports to the job, and keeps of it in checkpoints, if there is an
 * objective.
 * Figures for the job's status, which may be lost. NAN: not known, or not new. Rank 0 only. */
void trainer_send_figures(const struct trainer *trainer, double loss, double speed,
                          double test_accuracy);
/* Reports the metrics of the epoch that has ended (spec.metrics): once per epoch and not by time,
 * so that trainings can be compared, and no value is lost. NAN: not known, for example without test
 * data. */
void trainer_report(struct trainer *trainer, const double values[static BEST_METRIC_COUNT]);
/* False: there are none yet. */
bool trainer_reports_tensor(struct trainer *trainer, struct trainer_tensor *tensor);
/* Restores them from the checkpoint, if it has them. */
void trainer_reports_take(struct trainer *trainer, const struct checkpoint *checkpoint);
/* After a checkpoint was loaded: reports all that it has again, as far as its step. Rank 0 only. */
void trainer_reports_repeat(const struct trainer *trainer);
