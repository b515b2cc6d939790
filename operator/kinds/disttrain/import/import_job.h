/* import_job.h: a job.json of Azure Batch AI (API 2018-05-01 and 2017-09-01-preview) -> a DistTrain
 * manifest. Pure; used by import.c. What has no counterpart is said in comments of the manifest,
 * and no key or password of the file gets into it. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* While it is made. */
struct import {
    const json_t *properties; /* of the job */
    const char *name;         /* of the DistTrain, and the first part of its Secrets' names */
    json_t *spec;             /* owned, as all below */
    json_t *notes;            /* {FIELD of spec: [line, ...]}: comments above it */
    json_t *left_out;         /* [line, ...]: what has no counterpart */
    json_t *mounts;           /* {relativeMountPath: volume} */
};

/* *ret_text (owned): YAML that a cluster takes. INVALID: it is no such job, or says what cannot be
 * said in a manifest (more than 1,000 nodes, say). */
NODISCARD int import_job(const json_t *job, const char *name, char **ret_text, struct error *err);

/* ---- what its parts share ---- */

/* A comment above that field. */
void import_note(struct import *import, const char *field, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* What has no counterpart. */
void import_leave_out(struct import *import, const char *format, ...) PRINTF_LIKE(2, 3);
/* import_mounts.c: spec.volumes of mountVolumes. */
void import_mounts(struct import *import);
/* VOLUME/path of a path below Batch AI's mount roots; the volume is made when the cluster, and not
 * the job, had mounted it. Owned; NULL: it lies elsewhere. */
char *import_path(struct import *import, const char *path);
/* import_toolkit.c: launcher, command, slotsPerWorker. INVALID: there is none, or several. */
NODISCARD int import_toolkit(struct import *import, struct error *err);
