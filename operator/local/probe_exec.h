/* probe_exec.h: the command of a livenessProbe with exec, as a child process beside its pod: with
 * the pod's variables but those of Secrets, in its working folder, without output. Nothing blocks.
 */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

#include <sys/types.h>

/* Where the pod runs; copied. */
struct probe_place {
    char *const *variables;     /* "NAME=value", NULL at the end; NULL: none */
    const char *folder;         /* its working folder */
    const char *program_folder; /* of windlass-agent (pod.h) */
};

struct probe_exec;

/* NULL: the probe has no command. pod: the object; command: of its probe. */
struct probe_exec *probe_exec_new(const json_t *pod, const json_t *command,
                                  const struct probe_place *place);
void probe_exec_free(struct probe_exec *exec); /* kills it; accepts NULL */

/* Starts the command, which does not run. */
NODISCARD int probe_exec_start(struct probe_exec *exec, struct error *err);
bool probe_exec_runs(const struct probe_exec *exec);
/* 1: it has ended with 0; 0: it runs; -1: it has ended otherwise, and why is in *why. */
int probe_exec_look(struct probe_exec *exec, struct error *why);
void probe_exec_kill(struct probe_exec *exec);
/* Of the process that runs; 0: none. */
pid_t probe_exec_pid(const struct probe_exec *exec);
