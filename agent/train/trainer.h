/* trainer.h: one rank of a training, from the spec to OUT/model.onnx. All ranks call it with the
 * same spec; comm says who they are. What a rank does is a function of spec, seed and step: a
 * training that was ended and goes on from a checkpoint makes the same steps (with the same number
 * of ranks: the same bits). */
#pragma once

#include "agent/comm/comm.h"
#include "agent/engine/device.h"

#include <jansson.h>

struct train_job {
    const json_t *trainer; /* the spec's object of that name, defaults filled in or not */
    const json_t *metrics; /* likewise: what it is tuned for (best.h); or NULL */
    const char *name;      /* the job's, for people; or NULL */
    const char *run;       /* 16 hexadecimal digits: OUT/.windlass/RUN/ is the memory of the run */
    struct device *device; /* where the steps run; borrowed. Its memory need not be the host's */
    int threads;           /* that read data, at least 1 */
    /* With other ranks (reducer.h); three times as long until the first step is done, as data are
     * read and kernels prepared before it. 0: for ever. */
    int64_t patience_ms;
    bool (*is_stopped)(void); /* asked to leave: a last checkpoint, then CANCELLED; or NULL */
    /* One line for people, without a newline, of rank 0 alone. */
    void (*say)(const char *line);
};

/* The result is the network of the last epoch or, where metrics.objective is a metric that
 * trainings report, of the best one. It is tried for five minutes where the store does not take it.
 * INVALID, UNSUPPORTED: the spec, the model or the data, by name; the output is another job's.
 * FAILED: the loss is no finite number; step and rate are named. CONFLICT: a newer start of this
 * run has taken over. CANCELLED: is_stopped; the checkpoint is written. All else: the machine's,
 * the store's or another rank's. An error after which comm->is_lost: comm_abandon. */
NODISCARD int trainer_run(const struct train_job *job, struct comm *comm, struct error *err);
