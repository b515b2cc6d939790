/* other_owner.h: pods of a job to which somebody gave another owner beside the job. The cluster's
 * garbage collector keeps such a pod when the job is gone, as long as the other owner exists. An
 * Event says so while the job lives. */
#pragma once

#include "operator/control/controller.h"

/* Of one job; zero at first. */
struct other_owner {
    bool is_told;
};

/* In each pass over a job that has not ended. pods: of the job, as the cache has them. */
void other_owner_note(struct reconcile *request, struct other_owner *other, const json_t *pods);
