/* reconcile.h: the kind Sweep (operator/control/controller.h). options: struct sweep_options. In
 * kinds[] it stands behind DistTrain, whose objects it makes: they are watched as what they are. */
#pragma once

#include "operator/control/controller.h"

extern const struct kind sweep_kind;
