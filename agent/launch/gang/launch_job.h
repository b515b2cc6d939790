/* launch_job.h: reads and checks what a pod of a DistTrain gets in its environment
 * (operator/kinds/disttrain/pods.c, work.h). */
#pragma once

#include "agent/launch/gang/environment.h"
#include "agent/launch/gang/gang.h"
#include "agent/launch/gang/objective.h"
#include "lib/tree.h"

/* Exit code of a trainer's rank that received nothing from the others for hangSeconds. */
enum { TRAINER_GIVES_UP = 4 };

struct launch_job {
    const char *name, *worker; /* WINDLASS_JOB, WINDLASS_WORKER: this pod's */
    int index;                 /* WINDLASS_INDEX */
    int64_t attempt;           /* WINDLASS_ATTEMPT: this pod's */
    bool is_after_memory;      /* WINDLASS_BEFORE: how the pod before it ended */
    char *token;               /* WINDLASS_TOKEN, taken out of the environment; so are ... */
    char *key_pem;             /* ... WINDLASS_TLS_KEY; index 0 */
    const char *certificate_pem, *bind; /* index 0 */
    char hub[80];                       /* IP:PORT of member 0; index 0: its own */
    char sha256[65];                    /* of the hub's certificate */
    char address[46];                   /* of this pod: POD_IP */
    char *bin, *run;    /* folders: WINDLASS_FOLDER (else /windlass), /bin and /run */
    const char *events; /* of spot machines: WINDLASS_EVENTS (notice.h); NULL: no notices */
    int grace_s;        /* between SIGTERM and SIGKILL: WINDLASS_GRACE, else 30 */
    struct gang_options gang;
    enum gang_launcher launcher;
    bool is_torchrun;
    bool is_trainer; /* spec.trainer: the ranks are this program's own `train`, by mpirun */
    int gpus;
    json_t *spec;              /* WINDLASS_SPEC; owned */
    char **command, **prepare; /* NULL-ended, variables expanded; prepare: NULL: none */
    struct launch_path *inputs, *outputs;
    size_t input_count, output_count;
    char *logs;                         /* a folder; NULL: none */
    char *kept;                         /* the same as VOLUME/path */
    struct objective_options objective; /* of spec.metrics */
    const char *before;  /* WINDLASS_OBJECTIVE: as the previous hub left it; NULL: none */
    const char *pattern; /* NULL: no metrics are read from the output */
    char *metrics_file;  /* a path; NULL: none */
    /* Names, NULL-ended, borrowed from spec: the user's variables, whose $VAR are replaced, and
     * those that only the ranks get: they are in none of our texts, and mpirun has none of them. */
    const char **environment, **secrets;
};

/* INVALID: a line that names the variable or the field. */
NODISCARD int launch_job_read(struct launch_job *ret_job, struct error *err);
void launch_job_release(struct launch_job *job);
