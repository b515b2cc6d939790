/* import_kubeflow.h: the jobs that become a DistTrain or a Sweep (import_forms.h). */
#pragma once

#include "operator/kinds/import/import_notes.h"

NODISCARD int import_mpi(struct import *import, const json_t *object, struct error *err);
NODISCARD int import_pytorch(struct import *import, const json_t *object, struct error *err);
NODISCARD int import_trainjob(struct import *import, const json_t *object, struct error *err);
NODISCARD int import_rayjob(struct import *import, const json_t *object, struct error *err);
NODISCARD int import_katib(struct import *import, const json_t *object, struct error *err);
/* A Job of one pod: a DistTrain of one worker, as a trial of an Experiment. */
NODISCARD int import_single(struct import *import, const json_t *object, struct error *err);
