/* launch_job.h: reads and checks what a pod of a DistTrain gets in its environment
 * (operator/kinds/disttrain/pods.c, work.h). */
#pragma once

#include "agent/launch/gang/environment.h"
#include "agent/launch/gang/gang.h"
#include "agent/launch/gang/objective.h"
#include "lib/tree.h"

struct launch_job {
    const char *name;     /* WINDLASS_JOB */
    const char *worker;   /* WINDLASS_WORKER: this pod's name */
    int index;            /* WINDLASS_INDEX: this pod's, from 0 */
    int64_t attempt;      /* WINDLASS_ATTEMPT: this pod's, from 1 */
    bool is_after_memory; /* WINDLASS_BEFORE: the pod's predecessor was OOM-killed */
    char *token;          /* WINDLASS_TOKEN; removed from the environment, like key_pem */
    char *read_token;     /* WINDLASS_READ_TOKEN, which GET /progress wants; NULL: none */
    char *key_pem;        /* WINDLASS_TLS_KEY; index 0 */
    const char *certificate_pem, *bind; /* index 0 */
    char hub[80];                       /* IP:PORT of member 0; index 0: its own */
    char sha256[65];                    /* of the hub's certificate */
    char address[46];                   /* POD_IP: of this pod */
    char *bin, *run;      /* folders bin and run in WINDLASS_FOLDER (/windlass by default) */
    const char *events;   /* WINDLASS_EVENTS: notices of spot machines (notice.h); NULL: none */
    int grace_s;          /* WINDLASS_GRACE: between SIGTERM and SIGKILL of the pod */
    const char *last_end; /* WINDLASS_LAST_END; index 0: what the end of the pod before is in the
                             counts of restarts: "counted", "disrupted"; NULL: neither */
    bool only_finishes;   /* WINDLASS_FINISHES; index 0: no round may start */
    struct gang_options gang;
    enum gang_launcher launcher;
    bool is_torchrun;          /* environment.h */
    bool is_trainer;           /* spec.trainer: the ranks are our own trainer, started by mpirun */
    const char *result_path;   /* is_trainer: spec.trainer.output.path; NULL: missing */
    const char *run_name;      /* WINDLASS_RUN; NULL: missing */
    const char *uid;           /* WINDLASS_UID; NULL: missing */
    char **result_outputs;     /* of a command: the outputs as VOLUME/path, NULL-ended; owned */
    int gpus;                  /* of a pod */
    json_t *spec;              /* WINDLASS_SPEC; owned */
    char **command, **prepare; /* NULL-ended; prepare may be empty. Variables are not expanded:
                                  launch_variables_expand does it for each process */
    struct launch_path *inputs, *outputs;
    size_t input_count, output_count;
    char *logs;                         /* a folder; NULL: logs are not kept */
    char *logs_location;                /* the same as VOLUME/path */
    struct objective_options objective; /* of spec.metrics */
    const char *saved_objective;        /* WINDLASS_OBJECTIVE: the previous hub's; NULL: none */
    const char *pattern; /* of output lines with metrics; "": the usual forms (metric_scan.h);
                            NULL: they are not read */
    char *metrics_file;  /* a path; NULL: none */
    /* Names of variables, NULL-ended, borrowed from spec. environment: the user's, in which $NAME
     * is replaced. secrets: only ranks get them; no text has their values, and mpirun does not have
     * them. */
    const char **environment, **secrets;
};

/* INVALID: the message names the variable or the field of the spec. */
NODISCARD int launch_job_read(struct launch_job *ret_job, struct error *err);
void launch_job_release(struct launch_job *job);
