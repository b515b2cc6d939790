/* reconcile.h: the controller's side of a BatchScore: gathers what is there, asks plan what should
 * be there, and applies the difference. Reads no Secret: it makes one per job and forgets it. */
#pragma once

#include "operator/control/controller.h"

/* Its options are struct job_options. */
extern const struct kind batchscore_kind;
