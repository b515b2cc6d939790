/* environment.h: what programs of a gang have in their environment: the pod's own variables less
 * those of ours, and what Open MPI, MPICH, torchrun and those who come from Batch AI look for
 * (docs/launch.md). Pure: the same in every pod. */
#pragma once

#include "agent/launch/gang/gang_table.h"

enum gang_launcher { GANG_LAUNCHER_NONE, GANG_LAUNCHER_TORCHRUN, GANG_LAUNCHER_MPI };

enum launch_role {
    LAUNCH_COMMAND, /* mpirun on member 0, which hands its environment to all: nothing that differs
                       between pods, none of `secrets` */
    LAUNCH_PROCESS, /* a rank, the command on each pod, what mpirun starts on another pod */
    LAUNCH_PREPARE, /* before there is a gang: its own place, nothing of the others, no rank */
};

struct launch_path {
    const char *id, *path; /* "TRAIN", "/windlass/volumes/in/imagenet" */
};

struct launch_world {
    const char *const *base; /* the pod's variables, NULL-ended; a user's value wins over ours */
    const struct gang_table *table;
    enum gang_launcher launcher;
    bool is_torchrun;         /* the command makes the processes of a pod itself */
    bool is_trainer;          /* ranks are ours: they have spec, run and stores of the pod */
    bool is_walled;           /* no process may read another's memory (seccomp) */
    int index;                /* of the pod */
    int slot;                 /* of the process; -1: the command of a pod */
    int gpus;                 /* of the pod */
    int master_port;          /* free on member 0 */
    const char *job, *worker; /* names */
    const char *logs;         /* a folder of everybody's; NULL: there is none */
    const char *kept;         /* the same as VOLUME/path, for `rank` (rank.h) */
    const char *pattern;      /* of what a program says, reporter.h: which lines are metrics; and */
    const char *metrics_file; /* ... the file with its own; NULL: none */
    const char *bin;          /* where `ssh`, `rsh` and `rank` are ours: "/windlass/bin" */
    const char *run;          /* this pod's own files: "/windlass/run" */
    const char *const *secrets; /* names, NULL-ended; NULL: none */
    /* The same, of those in which $NAME and ${NAME} stand for what the process has of that name;
     * secrets and what it does not have stay as they stand. */
    const char *const *environment;
    const struct launch_path *inputs, *outputs;
    size_t input_count, output_count;
};

struct launch_variables {
    char **items; /* "NAME=VALUE", NULL-ended; owned */
    size_t count;
};

void launch_variables(const struct launch_world *world, enum launch_role role,
                      struct launch_variables *ret_variables);
void launch_variables_release(struct launch_variables *variables);
/* NULL: there is none. Borrowed. */
const char *launch_variable(const struct launch_variables *variables, const char *name);
/* Replaces, or adds. */
void launch_variable_set(struct launch_variables *variables, const char *name, const char *format,
                         ...) PRINTF_LIKE(3, 4);
