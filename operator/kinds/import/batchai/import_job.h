/* import_job.h: a job.json of Azure Batch AI (API 2018-05-01 and 2017-09-01-preview) -> a DistTrain
 * manifest. Pure; used by import.c. Fields without counterpart become comments of the manifest. No
 * key or password of the file is copied into it. */
#pragma once

#include "operator/kinds/import/import_notes.h"

/* INVALID: it is not such a job, or has a value that a manifest cannot express (more than 1,000
 * nodes, for example). */
NODISCARD int import_job(struct import *import, const json_t *job, struct error *err);

/* ---- its parts ---- */

/* import_mounts.c: converts mountVolumes to spec.volumes. */
void import_mounts(struct import *import);
/* VOLUME/path for a path below Batch AI's mount roots; the volume is created when the cluster, and
 * not the job, had mounted it. Owned; NULL: the path is elsewhere. */
char *import_path(struct import *import, const char *path);
/* The line of a shell with each such path replaced by $(VOLUME)/path, which pods and `windlass run`
 * expand. Owned. */
char *import_line(struct import *import, const char *line);
/* import_toolkit.c: sets launcher, command, slotsPerWorker. INVALID: no toolkit, or there
 * are several. */
NODISCARD int import_toolkit(struct import *import, struct error *err);
/* import_variables.c: notes the variables of Batch AI in command, prepare and environment that
 * nothing sets here. */
void import_variables(struct import *import);
