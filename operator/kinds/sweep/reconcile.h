/* reconcile.h: the kind Sweep (operator/control/controller.h). options: struct maker_options. In
 * kinds.c it is behind DistTrain, whose objects it makes: they are watched, and kept, as what
 * they are, and what happens to one wakes its Sweep by the ownerReference. */
#pragma once

#include "operator/control/controller.h"
#include "operator/kinds/job/spec.h"

extern const struct kind sweep_kind;
