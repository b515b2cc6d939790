/* pods.h: a DistTrain's pods, made. All are alike but the first (index 0), the hub, which the
 * others register with (docs/disttrain.md). What a pod is told is the contract of
 * docs/pod-contract.md. Pure. */
#pragma once

#include "operator/kinds/disttrain/spec.h"
#include "operator/kinds/job/owned.h"

#define ROLE_MEMBER "member"

/* On pods: the passwd file that they see, for programs that ask who they are. */
#define ANNOTATION_PASSWD "windlass.dev/passwd"

/* What a pod is to know of those before it. */
struct restarts {
    int64_t counted, disrupted; /* of the gang, by earlier hubs: a new one counts on */
    const json_t *objective;    /* what was told of spec.metrics, for the next hub; NULL: nothing */
    bool is_memory; /* its predecessor was ended for want of memory, with its agent: nobody else
                       can tell the hub */
};

/* attempt counts from 1: NAME-0; NAME-0-2. group: Kueue's (gang_objects.h); NULL: the first one.
 * Owned by the caller. */
json_t *pods_member(const struct disttrain_spec *spec, const struct endpoint *endpoint, int index,
                    int attempt, const struct restarts *restarts, const char *group);
/* The first two of the gang, which leads and which follows it: an array, owned. */
NODISCARD int disttrain_first_pods(const json_t *object, const struct endpoint *endpoint,
                                   json_t **ret_pods, struct error *err);
