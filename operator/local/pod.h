/* pod.h: runs a Pod as one child process: its first container, in its own process group, with its
 * own working folder and log file. It is never restarted (restartPolicy Never). It dies with this
 * process, even when this process is killed. */
#pragma once

#include "operator/local/volume.h"

/* How long the agent of a gang's pod waits between SIGTERM and SIGKILL of its program: shorter than
 * on a cluster, because a user who pressed Ctrl-C is waiting. */
enum { LOCAL_GRACE_S = 10 };
/* How long a pod whose liveness probe has failed may take to end by itself. */
enum { LOCAL_HUNG_S = 5 };

struct local_pod_settings {
    struct volume_places places;
    const char *program_folder; /* the folder of windlass-agent */
    int threads;                /* WINDLASS_THREADS of every pod */
    struct local_gpus *gpus;    /* divided among the pods; borrowed; NULL: every pod sees all */
    /* A key of a Secret of the pod's namespace; borrowed, NULL when there is none. */
    const char *(*secret)(void *context, const char *namespace, const char *name, const char *key);
    void *secret_context;
};

struct local_pod;

/* Starts the process and waits until the program runs. STATE/NAME.log: standard output and error.
 * STATE/pods/NAME/work: the working folder, empty when it starts (left_files.h); NAME/tmp: TMPDIR;
 * the agent's own files are beside them. When the program cannot be started, the error is the
 * reason. The memory limit (resources.limits.memory) is RLIMIT_DATA: it limits the private memory
 * that the process requests, not the memory that it touches; mapped folders and files do not count.
 */
NODISCARD int local_pod_start(const json_t *object, const struct local_pod_settings *settings,
                              struct local_pod **ret_pod, struct error *err);
/* Kills it if it still runs. */
void local_pod_free(struct local_pod *pod);

const char *local_pod_uid(const struct local_pod *pod); /* metadata.uid */
pid_t local_pod_pid(const struct local_pod *pod);
int local_pod_fd(const struct local_pod *pod); /* readable when the process has ended */

/* The program that stands for a word of a container's command on this machine; the caller frees:
 * here the agent does the work of the shim in a container of the user's image. */
char *local_pod_program(const char *program_folder, const char *word);
/* Variables and working folder of the process, borrowed. */
char *const *local_pod_variables(const struct local_pod *pod);
const char *local_pod_work_folder(const struct local_pod *pod);

/* Sends SIGTERM to the whole group, and SIGKILL when it still exists at local_pod_kill_at_ms. */
void local_pod_stop(struct local_pod *pod, int64_t now_ms);
/* The same for a pod that hangs, whose SIGKILL follows after LOCAL_HUNG_S at the latest. why: the
 * termination message, unless the pod leaves one. */
void local_pod_end(struct local_pod *pod, int64_t now_ms, const char *why);
void local_pod_kill(struct local_pod *pod);
/* On clock_monotonic_ms; INT64_MAX: the pod is not being stopped. */
int64_t local_pod_kill_at_ms(const struct local_pod *pod);

/* True when the process has ended (it is reaped, and its group is gone). */
bool local_pod_has_ended(struct local_pod *pod);

/* The Pod's status in Kubernetes' form; owned by the caller. */
json_t *local_pod_status(const struct local_pod *pod);
/* The status of a pod that could not be started. */
json_t *local_pod_status_not_started(const json_t *object, const struct error *err);
