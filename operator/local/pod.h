/* pod.h: one Pod as one child process of ours: its first container, in a process group of its own,
 * with its own working folder and log file. Never restarted (restartPolicy Never). It dies with
 * us, whatever kills us. */
#pragma once

#include "operator/local/volume.h"

/* Of a gang's pod, between SIGTERM and SIGKILL: nobody waits half a minute for Ctrl-C. */
enum { LOCAL_GRACE_S = 10 };

struct pod_settings {
    struct volume_places places;
    const char *program_folder; /* where windlass-agent lies */
    int threads;                /* WINDLASS_THREADS of every pod */
    struct gpus *gpus;          /* parted among the pods; borrowed; NULL: all see all */
    /* A key of a Secret of the pod's namespace; borrowed, NULL when there is none. */
    const char *(*secret)(void *context, const char *namespace, const char *name, const char *key);
    void *secret_context;
};

struct pod;

/* STATE/NAME.log: standard output and error. STATE/pods/NAME: the working folder. Waits until the
 * program runs. When it cannot be started, the error says why. The memory limit
 * (resources.limits.memory) is RLIMIT_DATA: the private memory it may ask for, not what it
 * touches; folders and files it maps do not count. */
NODISCARD int pod_start(const json_t *object, const struct pod_settings *settings,
                        struct pod **ret_pod, struct error *err);
/* Kills it if it still runs. */
void pod_free(struct pod *pod);

const char *pod_uid(const struct pod *pod); /* metadata.uid */
pid_t pod_pid(const struct pod *pod);
int pod_fd(const struct pod *pod); /* readable when the process has ended */

/* SIGTERM to the whole group; SIGKILL when it is still there at pod_kill_at_ms. */
void pod_stop(struct pod *pod, int64_t now_ms);
void pod_kill(struct pod *pod);
/* INT64_MAX: it is not being stopped. On clock_monotonic_ms. */
int64_t pod_kill_at_ms(const struct pod *pod);

/* True when the process has ended (and is waited for, and its group gone). */
bool pod_has_ended(struct pod *pod);

/* The Pod's status as Kubernetes has it; owned by the caller. */
json_t *pod_status(const struct pod *pod);
/* Of a pod that could not be started. */
json_t *pod_status_not_started(const json_t *object, const struct error *err);
