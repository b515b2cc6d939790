/* gang_objects.h: spec.gang: what the scheduler that places all workers or none wants of a job: an
 * object, or what stands in the pods. Pure.
 *
 * PodGroup   the object PodGroup of scheduling.x-k8s.io/v1alpha1 (minMember), and its label on
 * pods: kubernetes-sigs/scheduler-plugins, apis/scheduling/v1alpha1/types.go, from 0.25.7 on. Where
 * it is no second profile of the default scheduler, the user's template names it (schedulerName). A
 * PodGroup must be there before its pods: they would be refused. Volcano    the object PodGroup of
 * scheduling.volcano.sh/v1beta1 (minMember, queue, priorityClassName), on pods the annotation
 * scheduling.k8s.io/group-name and schedulerName: volcano.sh/apis, pkg/apis/scheduling/v1beta1.
 * Volcano's webhook refuses pods whose PodGroup is not there
 * (pkg/webhooks/admission/pods/validate). Kueue      no object of ours. On pods two labels, two
 * annotations and a gate (kubernetes-sigs/kueue, pkg/controller/jobs/pod/constants; the group is a
 * "plain pod group", KEP 976): Kueue lets all of them go when its queue has room. minMember is
 * minWorkers, as the hub starts with so many. minResources is left out of both: it may be (a group
 * without pods then holds back nothing), and the pods say what they want.
 *
 * A PodGroup is owned by the job's Service, as the Secret is: it goes with it at the end, whoever
 * leads then, and nobody needs to delete it. A job that is suspended keeps both. A pod that is
 * replaced joins the group, of which enough others run, so that it starts as soon as it fits.
 *
 * Kueue is told apart in more:
 * - Pods have the gate from birth, so that none starts before its webhook is there: without it they
 *   would run one by one. Who is not labelled kueue.x-k8s.io/managed is none of Kueue's.
 * - It counts a pod until that has failed, or leaves and has no node (isPodRunnableOrSucceeded),
 * and deletes the successor as one too many (kueue#15424): so a successor waits for that. It keeps
 *   pods by a finalizer until they are replaced or the group is over.
 * - A group is over when none of its pods is left to run, as one of them is not "retriable": then
 *   Kueue lets go of all of them and of the quota, whoever deleted them. What starts after that is
 *   another group, which is numbered by the hub's attempt.
 * - Pods that never had a node do not end, so a group of which some wait is not over when all of
 *   them are deleted (kueue#5130): its Workload is deleted then, which lets go of them. Nobody does
 *   it for a DistTrain that is deleted while it is queued: suspend it first. */
#pragma once

#include "operator/kinds/disttrain/spec.h"
#include "operator/kinds/job/pod_phase.h"

/* The PodGroup, owned by the stored Service; NULL: this scheduler has none. The caller's. */
json_t *gang_object(const struct disttrain_spec *spec, const json_t *service);
/* What has to be installed for spec.gang, for people. A literal. */
const char *gang_needs(enum gang_kind kind);

/* What the scheduler reads in a pod. group: Kueue's; not looked at with others. */
void gang_mark(const struct disttrain_spec *spec, const char *group, json_t *pod);

/* ---- Kueue's ---- */

/* The group of the pods that are made when none is left: attempt is the hub's. The caller's. */
char *gang_group(const struct disttrain_spec *spec, int attempt);
/* The group of a pod; NULL: it has none. Borrowed. */
const char *gang_group_of(const json_t *pod);
bool gang_is_managed(const json_t *pod); /* Kueue has seen it */
/* It holds a place in its group that no other can take. */
bool gang_is_counted(const json_t *pod);
/* It waits in a group that is over. */
bool gang_is_orphan(const json_t *pod);
/* It leaves, and Kueue keeps it although it never ran. */
bool gang_is_held(const json_t *pod);
/* That group's Workload, as a plan's "delete" names it. The caller's. */
json_t *gang_workload(const char *group);
