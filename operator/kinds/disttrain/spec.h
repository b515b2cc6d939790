/* spec.h: parses a DistTrain's spec from JSON into a struct, and checks the rules between its
 * fields (rules.c). Types, bounds and most defaults come from crds/disttrain.yaml (schema.h). That
 * file has the same rules as CEL with the same messages. Defaults that depend on another field
 * (minWorkers, restart.hangSeconds) are here. */
#pragma once

#include "operator/kinds/job/spec.h"

enum { DISTTRAIN_WORKERS_MAX = 1000 };

enum launcher { LAUNCHER_MPI, LAUNCHER_TORCHRUN, LAUNCHER_NONE, LAUNCHER_COUNT };
extern const char *const disttrain_launchers[]; /* spec.launcher by enum launcher */

/* The scheduler that places all workers or none (gang_scheduler.h). */
enum gang_kind { GANG_NONE, GANG_POD_GROUP, GANG_VOLCANO, GANG_KUEUE, GANG_COUNT };
extern const char *const disttrain_gangs[]; /* spec.gang by enum gang_kind */

/* Texts and trees are borrowed from the object. */
struct disttrain_spec {
    struct job_spec job; /* its image has our shim, or our trainer */
    int workers, min_workers;
    int slots; /* ranks per worker */
    int gpus;  /* per worker */
    bool spot;
    enum launcher launcher;
    enum gang_kind gang;
    const char *queue;                   /* of Kueue or Volcano; NULL: not given */
    const json_t *command;               /* NULL: the trainer */
    const char *program_image;           /* of the command; NULL: the trainer's is job.image */
    const json_t *environment, *secrets; /* NULL where not given */
    const char *shared_memory;           /* the same */
    const json_t *resources, *node_selector, *tolerations;
    int64_t start_deadline_seconds; /* 0: none */
    int max_restarts;
    json_t *work; /* the agent's part of the spec (work.h); owned */
};

/* Checks only the rules between fields, for an object that passed schema_check. ERROR_INVALID and
 * "spec.minWorkers: is more than workers...". */
NODISCARD int disttrain_check(const json_t *object, struct error *err);

/* Reads an object with defaults filled in, and checks the rules. Call disttrain_spec_release in any
 * case. */
NODISCARD int disttrain_spec_read(const json_t *object, const struct job_options *options,
                                  struct disttrain_spec *ret_spec, struct error *err);
void disttrain_spec_release(struct disttrain_spec *spec); /* for AUTO, too */

/* The fields that may change while a job runs; ends with NULL. */
extern const char *const disttrain_mutable_fields[];
/* Those that may change in addition while it is suspended; ends with NULL. */
extern const char *const disttrain_suspended_fields[];
/* Refuses changes that even a suspended job may not make, in the fields of
 * disttrain_suspended_fields. before: the spec that the job began with; after: the object with the
 * changed one. A job may not change between GPUs and none, because image and results would differ.
 */
NODISCARD int disttrain_check_change(const json_t *before, const json_t *after, struct error *err);
