/* reconcile.h: the controller's side of a BatchScore: it gathers the observed state, calls plan,
 * and applies the result. It never reads Secrets: it creates one per job and forgets its content.
 */
#pragma once

#include "operator/control/controller.h"

/* Its options are struct job_options. */
extern const struct kind batchscore_kind;
