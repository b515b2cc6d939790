/* gang_scheduler.h: spec.gang: what a scheduler that places all workers or none requires of a job:
 * an object, or fields of the pods. Pure.
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
 * kueue.h has more ways in which Kueue differs.
 */
#pragma once

#include "operator/kinds/disttrain/spec.h"

/* The PodGroup, owned by the stored Service; NULL: this scheduler has none. The caller frees it. */
json_t *gang_scheduler_object(const struct disttrain_spec *spec, const json_t *service);
/* The components that spec.gang needs in the cluster, for people. A literal. */
const char *gang_scheduler_needs(enum gang_kind kind);

/* Adds the scheduler's fields to a pod. group: Kueue's; ignored for other schedulers. */
void gang_scheduler_mark(const struct disttrain_spec *spec, const char *group, json_t *pod);
