/* trainer.h: one rank of a training, from the spec to OUT/model.onnx. All ranks call it with the
 * same spec; comm connects them. The result of a step depends only on spec, seed and step: a
 * training resumed from a checkpoint makes the same steps (with the same number of ranks: the same
 * bits). */
#pragma once

#include "agent/comm/comm.h"
#include "agent/engine/device.h"

#include <jansson.h>

struct train_job {
    const json_t *trainer; /* spec.trainer, with every default filled in */
    const json_t *metrics; /* spec.metrics: the objective (best.h); or NULL */
    const char *name;      /* the job's, for people; or NULL */
    const char *restart;   /* of `--restart` (windlass.dev/restart): an output that was begun with
                              another text is discarded and made again; NULL, "": keep */
    /* A folder that the trainings of a sweep share. The first of them records there what `latest`
     * and links led to, so that all read the same files (store/moving_paths.h); NULL: none. */
    const char *shared;
    const char *run;       /* 16 hexadecimal digits: OUT/.windlass/RUN/ holds its checkpoints */
    int64_t round;         /* of the gang (WINDLASS_ROUND), for the record of the result; or 0 */
    struct device *device; /* where the steps run; borrowed. Its memory need not be the host's */
    int threads;           /* for reading data, at least 1 */
    /* How long to wait for other ranks (reducer.h); three times as long until the first step is
     * done, since data are read and kernels prepared before it. 0: forever. */
    int64_t timeout_ms;
    bool (*is_stopped)(void); /* stop requested: a last checkpoint, then CANCELLED; or NULL */
    /* Prints a line for people, given without a newline. Called on rank 0 only. */
    void (*say)(const char *line);
    /* The same, called on any rank, by any thread: names a bad sample. NULL: not reported. */
    void (*note)(int rank, const char *line);
    /* Set to true if the training ends because of bad samples (dataset/bad_samples.h). Or NULL. */
    bool *has_bad_data;
};

/* OUT/.windlass/RUN/finished/ has a record of the result (finished.h), written last. A training
 * that has come to its end, and whose result is complete, is not made again.
 * The result is the network of the last epoch or, if metrics.objective is a metric that trainers
 * report, of the best one. If the store fails, writing it is retried for five minutes.
 * INVALID, UNSUPPORTED: spec, model or data, by name; or the output belongs to another job.
 * FAILED: the loss is not finite; names step and rate. CONFLICT: a newer start of this run has
 * taken over. CANCELLED: is_stopped; the checkpoint is written. Other errors are those of the
 * machine, the store or another rank. If comm->is_lost after an error, call comm_abandon. */
NODISCARD int trainer_run(const struct train_job *job, struct comm *comm, struct error *err);
