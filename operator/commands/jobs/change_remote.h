/* change_remote.h: changes of a job on a cluster. */
#pragma once

#include "operator/commands/jobs/job_where.h"

enum change { CHANGE_CANCEL, CHANGE_SUSPEND, CHANGE_RESUME, CHANGE_RERUN, CHANGE_DELETE };

/* INVALID: the job's state does not allow it. dry: nothing is stored. A job that is made anew keeps
 * name, labels, annotations and spec; where that fails, the manifest is printed to standard error.
 */
NODISCARD int change_remote(struct job_found *found, enum change change, bool dry,
                            struct error *err);
