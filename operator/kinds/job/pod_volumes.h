/* pod_volumes.h: spec.volumes, spec.stores and spec.buckets as parts of a pod: its volumes and the
 * mounts of its container. Pure. The caller owns all results. */
#pragma once

#include "operator/kinds/job/spec.h"

/* The folder of our own files in a pod. */
#define POD_FOLDER "/windlass"
/* For a store with a Secret: its keys are files in POD_STORES/ACCOUNT/, for a bucket in
 * POD_STORES/s3-BUCKET/, where agent/store reads them. */
#define POD_STORES POD_FOLDER "/stores"

json_t *pod_mounts(const struct job_spec *spec);
json_t *pod_volumes(const struct job_spec *spec);
/* An empty folder that is deleted with its pod. */
json_t *pod_scratch(const char *name);
