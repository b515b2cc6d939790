/* status_local.h: `windlass status NAME` of a run of this machine. */
#pragma once

#include "operator/commands/jobs/job_where.h"
#include "operator/commands/status/status_show.h"

/* With `watch` it follows the run until its end, and *ret_code is 1 unless the job succeeded;
 * found->job becomes the newest. It prints nothing for -o json, yaml and name. */
NODISCARD int status_local_show(struct job_found *found, const struct status_request *request,
                                int *ret_code, struct error *err);
