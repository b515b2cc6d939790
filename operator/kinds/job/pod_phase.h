/* pod_phase.h: the phase of a Pod, read from its status as written by Kubernetes or windlass run.
 * Pure. The place of a pod is its role and index: a replacement has the same place and the next
 * attempt.
 *
 * Deaths. A death is a pod whose program ended with another exit code than 0 by its own fault; a
 * pod that was removed (evicted, preempted, its node lost, deleted by a user) is dead, too, but
 * does not count as a death. Progress resets the count: what counts is how many pods of a
 * place have died in a row without one that made progress. A pod itself says what it
 * has made durable (a coordinator's commits, a worker's finished leases): "progress" in its
 * termination message, which outlives kill -9 and a controller that did not look. A pod of an
 * earlier release does not say it, and its deaths count without end. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

enum pod_phase_stage {
    POD_PHASE_WAITING, /* not running yet: scheduling, pulling its image, starting */
    POD_PHASE_RUNNING,
    POD_PHASE_LEAVING,   /* asked to end or unreachable, but perhaps still running */
    POD_PHASE_SUCCEEDED, /* exit code 0 */
    POD_PHASE_DEAD,      /* failed, or removed */
};

struct pod_phase {
    const json_t *pod;
    const char *name;
    enum pod_phase_stage stage;
    int attempt, index; /* from its labels; index is -1 for a coordinator */
    int deaths_before;  /* deaths in its place before it was made, from its annotation */
    int exit_code;      /* of a dead one; -1: it was removed */
    bool is_fault;      /* dead by its own fault; a kind may clear it for some of its exit codes */
    int64_t progress;   /* of an ended one: what it made durable in its life; 0: nothing, unknown */
    bool never_started; /* dead, and its program never ran */
    bool is_gone; /* dead or succeeded, and certainly not running: its node reports it, or it never
                     had a node. Otherwise it may still run on an unreachable node */
    bool is_held; /* dead or succeeded, and another of its containers has not ended, or cannot
                     start: it keeps its place and GPUs on its node */
    bool is_unscheduled; /* waiting, and no node fits */
    bool wants_gpus;
    int64_t born_ms;     /* when it was made; 0: not known */
    int64_t placed_ms;   /* since when it has had a node; 0: not known */
    int64_t running_ms;  /* since when its program has run; 0: it does not, or not known */
    int64_t gone_ms;     /* of a leaving one: when it should be gone; 0: not known */
    int64_t grace_ms;    /* of a leaving one: from the deletion to gone_ms; below 0: not known */
    const char *image;   /* of its container, or of the one that it waits for */
    int64_t ended_ms;    /* of a dead or succeeded one, by its node's clock; 0: not known */
    int64_t over_ms;     /* the same by our clock, when first seen; set by the plan */
    const char *message; /* its termination message, or what it waits for; "" if none */
    const char *reason;  /* OOMKilled, ImagePullBackOff, ...; "" if none */
};

/* Everything in it is borrowed from the pod. */
struct pod_phase pod_phase_read(const json_t *pod);

/* The agent's container in a state ("running", "waiting", "terminated"); NULL when it is not in
 * that state. It is found by its name, because the kubelet sorts containers, and a template may add
 * others. */
const json_t *pod_phase_agent_state(const json_t *pod, const char *state);

/* The status of an init container that keeps the agent from starting: it failed, or cannot be
 * started. NULL when there is none. */
const json_t *pod_phase_init_trouble(const json_t *pod);
/* The status of a container beside the agent's that cannot be started (a model server whose image
 * cannot be pulled). NULL when there is none. */
const json_t *pod_phase_other_trouble(const json_t *pod);

/* Its place, as a text that is the same for all pods of it: "worker/0". The caller frees it. */
char *pod_phase_place(const json_t *pod);
char *pod_phase_place_of(const char *role, int index);

/* Deaths in its place in a row without progress, this pod's included. */
int pod_phase_deaths(const struct pod_phase *phase);
/* The same, when `deaths` were counted up to the pod before it: for pods that are all there, in the
 * order of their attempts. Pods that have not ended change nothing. */
int pod_phase_count(int deaths, const struct pod_phase *phase);

/* True for POD_PHASE_WAITING and POD_PHASE_RUNNING. */
bool pod_phase_is_alive(const struct pod_phase *phase);

/* The delay before a replacement after `deaths` deaths: none after the first, then 1 s, doubling,
 * at most a minute. */
int64_t pod_phase_back_off_ms(int deaths);
/* When a dead or succeeded pod may be replaced. A pod that was removed does not count as a death,
 * but a node that refuses every pod (because of a broken GPU, for example) must not be flooded:
 * attempts that end soon after their start are delayed in the same way, unless they made progress.
 * After a death with progress the successor is made at once, but not within a second of the dead
 * one's making. */
int64_t pod_phase_replace_ms(const struct pod_phase *phase, int deaths);
