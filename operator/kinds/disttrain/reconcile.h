/* reconcile.h: the kind DistTrain (operator/control/controller.h). options: struct job_options. */
#pragma once

#include "operator/control/controller.h"

extern const struct kind disttrain_kind;
