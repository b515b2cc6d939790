/* plan_after.h: the step of a plan in which a job waits for those of spec.after. Pure. */
#pragma once

#include "operator/kinds/job/plan.h"

/* Of a job that has not begun. True: it waits, or has failed with them, and the conditions say so;
 * nothing else is to be done. False: it goes on. */
NODISCARD bool plan_after_waits(struct job_plan *plan);
