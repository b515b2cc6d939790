/* gang_objects.h: spec.gang: what a scheduler that places all workers or none requires of a job: an
 * object, or fields of the pods. Pure.
 *
 *   PodGroup   The object PodGroup of scheduling.x-k8s.io/v1alpha1 (minMember), and its label on
 *              pods: kubernetes-sigs/scheduler-plugins, apis/scheduling/v1alpha1/types.go, since
 *              0.25.7. When that scheduler is not a second profile of the default scheduler, the
 *              user's template names it (schedulerName). A PodGroup must exist before its pods,
 *              which would be refused otherwise.
 *   Volcano    The object PodGroup of scheduling.volcano.sh/v1beta1 (minMember, queue,
 *              priorityClassName); on pods the annotation scheduling.k8s.io/group-name and
 *              schedulerName: volcano.sh/apis, pkg/apis/scheduling/v1beta1. Volcano's webhook
 *              refuses pods whose PodGroup does not exist (pkg/webhooks/admission/pods/validate).
 *   Kueue      No object of ours. On pods two labels, two annotations and a gate
 *              (kubernetes-sigs/kueue, pkg/controller/jobs/pod/constants; the group is a "plain pod
 *              group", KEP 976). Kueue releases all pods of a group when its queue has room.
 *
 * minMember is minWorkers, because the hub starts with that many. minResources is omitted in both
 * PodGroups: it is optional (a group without pods then reserves nothing), and the pods state their
 * requests.
 *
 * A PodGroup is owned by the job's Service, like the Secret: the cluster deletes it with the
 * Service at the end, without the controller. A suspended job keeps both. A replacement pod joins
 * the group, in which enough other pods run, so that it starts as soon as it fits.
 *
 * Kueue differs in more ways:
 * - Pods have the gate from creation, so that none starts before Kueue's webhook is installed:
 *   without the gate they would run one by one. Kueue ignores a pod without the label
 *   kueue.x-k8s.io/managed.
 * - Kueue counts a pod until it has failed, or until it is being deleted and has no node
 *   (isPodRunnableOrSucceeded), and deletes a successor as excess (kueue#15424): so a successor is
 *   created only after that. A finalizer keeps pods until they are replaced or the group is over.
 * - A group is over when none of its pods can run any more, because one of them is not
 *   "retriable": then Kueue releases all of them and the quota, no matter who deleted them. Pods
 *   that start after that are another group, which is numbered by the hub's attempt.
 * - Pods that never had a node do not end, so a group with waiting pods is not over when all of
 *   them are deleted (kueue#5130). The plan then deletes its Workload, which releases them. This
 *   does not happen for a DistTrain that is deleted while it is queued: suspend it first.
 */
#pragma once

#include "operator/kinds/disttrain/spec.h"
#include "operator/kinds/job/pod_phase.h"

/* The PodGroup, owned by the stored Service; NULL: this scheduler has none. The caller frees it. */
json_t *gang_object(const struct disttrain_spec *spec, const json_t *service);
/* The components that spec.gang needs in the cluster, for people. A literal. */
const char *gang_needs(enum gang_kind kind);

/* Adds the scheduler's fields to a pod. group: Kueue's; ignored for other schedulers. */
void gang_mark(const struct disttrain_spec *spec, const char *group, json_t *pod);

/* ---- Kueue ---- */

/* The group of the pods that are made when no pod is left: attempt is the hub's. The caller frees
 * it. */
char *gang_group(const struct disttrain_spec *spec, int attempt);
/* The group of a pod; NULL: it has none. Borrowed. */
const char *gang_group_of(const json_t *pod);
bool gang_is_managed(const json_t *pod); /* Kueue has seen it */
/* The pod occupies a place in its group; no other pod can take it. */
bool gang_is_counted(const json_t *pod);
/* The pod waits in a group that is over. */
bool gang_is_orphan(const json_t *pod);
/* The pod is being deleted, and Kueue keeps it although it never ran. */
bool gang_is_held(const json_t *pod);
/* That group's Workload, in the form of a plan's "delete". The caller frees it. */
json_t *gang_workload(const char *group);
