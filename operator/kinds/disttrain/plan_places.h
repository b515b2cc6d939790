/* plan_places.h: the state of a DistTrain's plan, and what all its parts need of the pods. Pure. */
#pragma once

#include "lib/contract.h"
#include "operator/kinds/disttrain/plan.h"
#include "operator/kinds/disttrain/pods.h"
#include "operator/kinds/disttrain/status.h"

struct disttrain_plan {
    struct job_plan job;
    struct disttrain_spec spec;
    const struct pod_phase *hub; /* the newest pod of index 0; NULL: none */
    struct gang_wait wait;       /* from the status, then the new value */
};

/* One index: all pods that have had it. */
struct gang_place {
    struct pod_phase newest; /* stage is meaningful when attempt > 0 */
    int deaths;              /* by its own failure */
    bool is_alive;
    bool is_here;    /* a process of it may still run: alive, leaving, or unreachable */
    bool is_counted; /* Kueue has no place for another pod (kueue_is_counted) */
};

/* A pod that Kueue has not marked after this time is not managed by Kueue. */
enum { GANG_UNSEEN_MS = 5000 };

bool disttrain_is_hub(const struct pod_phase *phase);
/* It ended by its own failure, and another pod would fail in the same way. */
bool disttrain_has_failed(const struct pod_phase *phase);
/* One for each of spec.workers; the caller frees the array. */
struct gang_place *disttrain_places(const struct disttrain_plan *gang);
bool disttrain_is_running(const struct disttrain_plan *gang);
/* The highest attempt of the hub so far, including hubs whose pods are gone. */
int disttrain_known_attempt(const struct disttrain_plan *gang);
/* Kueue should release the pod, and has not marked it after_ms after it was created. */
bool disttrain_is_unseen(const struct disttrain_plan *gang, const struct pod_phase *phase,
                         int64_t after_ms);
/* Deletes that pod, so that its place can be taken by another. */
void disttrain_dismiss(struct disttrain_plan *gang, struct gang_place *place);
/* Deletes pods that are alive, and pods that need not be kept: after a success all but the hub's
 * pod; all of them when all is true. */
void disttrain_clean_up(struct disttrain_plan *gang, bool succeeded, bool all);
