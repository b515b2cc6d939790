/* other_owner.h: pods of a job to which somebody gave another owner beside the job. The cluster's
 * garbage collector keeps such a pod when the job is gone, as long as the other owner exists. An
 * Event says so while the job lives; when it is deleted, these pods are deleted by the controller,
 * by their uid. After `kubectl delete --cascade=orphan` they stay, as all others. */
#pragma once

#include "operator/control/controller.h"

/* Of one job; zero at first. */
struct other_owner {
    bool is_told;
    bool leaves_orphans; /* the job is being deleted without what it owns */
};

/* True: `kubectl delete --cascade=orphan`; the cluster takes this mark off when the owned objects
 * are free. */
bool other_owner_leaves_orphans(const json_t *object);
/* In each pass. pods: of the job, as the cache has them. */
void other_owner_note(struct reconcile *request, struct other_owner *other, const json_t *pods);
/* In a pass over a job that is gone. uid: the job's. True: something was asked for. */
bool other_owner_delete(struct reconcile *request, const struct other_owner *other,
                        const char *uid);
