/* reconcile.h: the kind Sweep (operator/control/controller.h). options: struct maker_options. In
 * kinds.c it comes after DistTrain, whose objects it creates: they are watched and cached as
 * DistTrains, and a change of one triggers a pass of its Sweep through the ownerReference. */
#pragma once

#include "operator/control/controller.h"
#include "operator/kinds/job/spec.h"

extern const struct kind sweep_kind;
