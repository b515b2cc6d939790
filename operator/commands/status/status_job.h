/* status_job.h: `windlass status NAME`: one job, its pods and what it has made. */
#pragma once

#include "operator/commands/status/status_show.h"

/* The lines about one job: its progress, message, outputs, runs and pods. not_live: why the figures
 * are not those of this second; "": they are. */
void status_job_print(const json_t *job, const json_t *pods, const char *not_live);
/* found: the job as it was just read; its figures become live. With `watch` it runs until the job's
 * end, and *ret_code is 1 unless the job succeeded. */
NODISCARD int status_job_show(struct remote *remote, json_t *found,
                              const struct status_request *request, int *ret_code,
                              struct error *err);
