/* kueue.h: a gang of pods as a group of Kueue's, the scheduler that differs most from the others of
 * gang_scheduler.h. Pure.
 *
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

/* Of a Workload, which has the name of its group. */
#define KUEUE_API_VERSION "kueue.x-k8s.io/v1beta2"

/* Adds the queue, the group and the gate to a pod. */
void kueue_mark(const struct disttrain_spec *spec, const char *group, json_t *pod);
/* The group of the pods that are made when no pod is left: attempt is the hub's. The caller frees
 * it. */
char *kueue_new_group(const struct disttrain_spec *spec, int attempt);
/* The group of a pod; NULL: it has none. Borrowed. */
const char *kueue_group_of(const json_t *pod);
/* The same, if it is a group of that DistTrain's. Anybody can label a pod, and a template may join
 * the pods of several jobs to a group of the user's. */
const char *kueue_own_group_of(const json_t *job, const json_t *pod);
bool kueue_is_managed(const json_t *pod); /* Kueue has seen it */
/* The pod occupies a place in its group; no other pod can take it. */
bool kueue_is_counted(const json_t *pod);
/* The pod waits in a group that is over. */
bool kueue_is_orphan(const json_t *pod);
/* The pod is being deleted, and Kueue keeps it although it never ran. */
bool kueue_is_held(const json_t *pod);
