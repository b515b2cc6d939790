/* environment.h: builds the environment variables of a gang's programs: the pod's own variables
 * (without the agent's), and what Open MPI, MPICH, torchrun and scripts written for Batch AI expect
 * (docs/launch.md). Pure. */
#pragma once

#include "agent/launch/gang/gang_table.h"
#include "agent/launch/rank/status_server.h"

enum gang_launcher { GANG_LAUNCHER_NONE, GANG_LAUNCHER_TORCHRUN, GANG_LAUNCHER_MPI };

enum launch_role {
    LAUNCH_COMMAND, /* mpirun on member 0. It sends its environment to all pods, unencrypted: no
                       variable that differs between pods, and no secrets */
    LAUNCH_PROCESS, /* a rank, a command that runs on each pod, a command that mpirun starts on
                       another pod */
    LAUNCH_PREPARE, /* spec.prepare, before there is a round: no ranks, no other pods */
};

struct launch_path {
    const char *id, *path; /* "TRAIN", "/windlass/volumes/in/imagenet" */
};

struct launch_context {
    const char *const *pod_environment; /* NULL-ended; a user's value wins over ours */
    const struct gang_table *table;
    enum gang_launcher launcher;
    bool is_torchrun; /* the command is torchrun, which starts a pod's ranks itself */
    bool is_trainer;  /* ranks are our trainer: they get the pod's spec, run and stores */
    /* seccomp forbids process_vm_readv, which Open MPI would try for each message */
    bool forbids_memory_reads;
    int index;                         /* of the pod */
    int slot;                          /* of the process; -1: the only process of the pod */
    int gpus;                          /* of the pod */
    int master_port;                   /* a free port of member 0 */
    const char *job, *worker;          /* names of the job and of the pod */
    const char *logs;                  /* a folder that all pods see; NULL: none */
    const char *logs_location;         /* the same as VOLUME/path, for `rank` (rank.h) */
    const char *pattern;               /* which output lines are metrics (reporter.h); NULL: none */
    const char *metrics_file;          /* a file of metrics that the program writes; NULL: none */
    const char *preload;               /* for MPI's launchers (preload.c); NULL: none */
    struct status_server_place status; /* where a program may post its status; or all NULL */
    const char *bin;                   /* where our `ssh`, `rsh` and `rank` are: "/windlass/bin" */
    const char *run;                   /* this pod's own files: "/windlass/run" */
    const char *const *secrets;        /* names of variables, NULL-ended; NULL: none */
    /* Names of the user's variables, NULL-ended. $NAME and ${NAME} in them are replaced by the
     * process's variables, except secrets and unknown names. */
    const char *const *environment;
    const struct launch_path *inputs, *outputs;
    size_t input_count, output_count;
};

struct launch_variables {
    char **items; /* "NAME=VALUE", NULL-ended; owned */
    size_t count;
    char *refused; /* owned: why launch_variables_expand refuses the user's variables; NULL: nothing
                    */
};

/* table, launcher and slot are not used for LAUNCH_PREPARE. */
void launch_make_variables(const struct launch_context *context, enum launch_role role,
                           struct launch_variables *ret_variables);
/* The command's words with $NAME, ${NAME} and $(NAME) replaced by this process's variables, except
 * secrets: other users see arguments. Unknown names stay, for a shell of the user. INVALID: a word
 * becomes too long, or names a WINDLASS_ variable that this process does not have, and no shell
 * reads the word (`sh -c WORD`); or one of the user's own variables names such a one. The caller
 * frees the words and the array, which ends with NULL. */
NODISCARD int launch_variables_expand(const struct launch_context *context,
                                      const struct launch_variables *variables, char *const *words,
                                      char ***ret_words, struct error *err);
void launch_variables_release(struct launch_variables *variables);
/* The value, borrowed; NULL: not set. */
const char *launch_variable(const struct launch_variables *variables, const char *name);
/* Adds the variable, or replaces its value. */
void launch_variable_set(struct launch_variables *variables, const char *name, const char *format,
                         ...) PRINTF_LIKE(3, 4);
