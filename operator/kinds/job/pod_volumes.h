/* pod_volumes.h: what spec.volumes and spec.stores make of a pod: its volumes, and where its
 * container sees them. Pure. All results are the caller's. */
#pragma once

#include "operator/kinds/job/spec.h"

/* Where our own files are in a pod. */
#define POD_FOLDER "/windlass"
/* Of a store with a Secret: its keys as files in POD_STORES/ACCOUNT/, where agent/store looks. */
#define POD_STORES POD_FOLDER "/stores"

json_t *pod_mounts(const struct job_spec *spec);
json_t *pod_volumes(const struct job_spec *spec);
/* An empty folder that goes with its pod. */
json_t *pod_scratch(const char *name);
