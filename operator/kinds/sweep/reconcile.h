/* reconcile.h: the kind Sweep (operator/control/controller.h). options: struct sweep_options. In
 * kinds[] it stands behind DistTrain, whose objects it makes: they are watched, and kept, as what
 * they are, and what happens to one wakes its Sweep by the ownerReference. */
#pragma once

#include "operator/control/controller.h"
#include "operator/kinds/job/spec.h"
#include "operator/schema.h"

struct sweep_options {
    const struct schema *train;     /* DistTrain's definition */
    const struct job_options *jobs; /* for the pod that registers; NULL: what is our own */
};

extern const struct kind sweep_kind;
