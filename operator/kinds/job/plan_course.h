/* plan_course.h: the course of a job with a Service and a hub, for kinds whose jobs have one: the
 * verdict -> suspended | delayed | waiting for the Secret | pods. Pure. */
#pragma once

#include "operator/kinds/job/plan.h"

/* Every function gets the job_plan that is the first member of the kind's own plan. */
struct job_plan_course_ops {
    /* Sets the conditions when the job has ended. */
    void (*verdict)(struct job_plan *job);
    char *(*how_far)(const struct job_plan *job); /* "24 of 280 items are done"; owned */
    void (*suspend)(struct job_plan *job);
    void (*pods)(struct job_plan *job);
    bool (*has_hub)(const struct job_plan *job);
    bool (*is_running)(const struct job_plan *job);
};

/* The next step of a job: sets the conditions. */
void job_plan_follow_course(struct job_plan *job, const struct job_plan_course_ops *ops);
/* The end of a pass over an unfinished job: the remains of a job that has just ended, the next
 * wake-up, one event per transition. */
void job_plan_conclude(struct job_plan *job);
