/* import_batch.h: the jobs that become a BatchScore (import_forms.h). */
#pragma once

#include "operator/kinds/import/import_notes.h"

/* A Job of Kubernetes with indexed completions: an index is an item. */
NODISCARD int import_indexed(struct import *import, const json_t *object, struct error *err);
/* A parallel job of Azure Machine Learning: a step of a pipeline, a ParallelRunConfig, or the
 * deployment of a batch endpoint. */
bool import_is_parallel(const json_t *object);
NODISCARD int import_parallel(struct import *import, const json_t *object, struct error *err);
