/* import_policy.h: what the jobs of Kubernetes have in common besides their pods. */
#pragma once

#include "operator/kinds/import/import_notes.h"

/* Its labels become the job's; a label of Kueue becomes gang and queue. */
void import_metadata(struct import *import, const json_t *object);
/* runPolicy of Kubeflow, or the spec of a Job, which has the same fields. where: before its names
 * in what is left out. Others must be in the table, which may be NULL. */
void import_policy(struct import *import, const json_t *policy, const char *where,
                   const struct import_field *others);
/* One of a job's replica specs, which has a pod template. where: "Worker." */
void import_replica(struct import *import, const json_t *replica, const char *where);
/* Replicas, from 1 to 1,000. INVALID: others. */
NODISCARD int import_workers(struct import *import, int64_t workers, const char *where,
                             struct error *err);
