/* other_owner.h: pods of a job to which somebody gave another owner beside the job, and jobs that
 * another controller runs (spec.managedBy). The cluster's garbage collector keeps such a pod when
 * the job is gone, as long as the other owner exists. An Event says so while the job lives. */
#pragma once

#include "operator/control/controller.h"

struct job_options;

/* Of one job; zero at first. */
struct other_owner {
    bool is_told;
};

/* In each pass over a job that has not ended. pods: of the job, as the cache has them. */
void other_owner_note(struct reconcile *request, struct other_owner *other, const json_t *pods);

/* Whether the object is left alone: its spec.managedBy names another controller. Not so of one that
 * has objects of these kinds (ends with NULL) from us: it has begun here, a server without CEL let
 * the field change, and SpecChanged names it. */
bool other_owner_manages(const struct reconcile *request, const struct job_options *options,
                         const char *const *kinds);
