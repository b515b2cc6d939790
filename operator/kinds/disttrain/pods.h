/* pods.h: creates a DistTrain's pods. All are alike except the first (index 0), the hub, with which
 * the others register (docs/disttrain.md). docs/pod-contract.md is the contract of their
 * environment. Pure. */
#pragma once

#include "operator/kinds/disttrain/spec.h"
#include "operator/kinds/job/owned.h"

#define ROLE_MEMBER "member"

/* On pods: the passwd file that they see, for programs that look up their user. */
#define ANNOTATION_PASSWD "windlass.dev/passwd"

/* What a pod receives about earlier pods, in its environment. */
struct restarts {
    /* Restarts of the gang, by earlier hubs: a new hub continues these counts. */
    int64_t counted, disrupted;
    int64_t since;        /* of the counted ones, those since the last progress that was kept */
    const char *last_end; /* of these, what the end of the pod before was: "counted", "disrupted";
                             NULL: neither */
    int finishes;         /* > 0: the pod may start nothing (ANNOTATION_FINISHES) */
    const json_t *objective; /* the reported values of spec.metrics, for the next hub; NULL: none */
    bool is_memory; /* its predecessor, agent included, was killed because it ran out of memory:
                       only this pod can report it to the hub */
};

/* attempt counts from 1: NAME-0; NAME-0-2. The caller owns it. */
char *disttrain_member_name(const char *job, int index, int attempt);
/* group: Kueue's (kueue.h); NULL: the first one. Owned by the caller. */
json_t *disttrain_member_pod(const struct disttrain_spec *spec, const struct endpoint *endpoint,
                             int index, int attempt, const struct restarts *restarts,
                             const char *group);
/* The first two pods of the gang, the leader and a follower: an array, owned. */
NODISCARD int disttrain_first_pods(const json_t *object, const struct endpoint *endpoint,
                                   json_t **ret_pods, struct error *err);
