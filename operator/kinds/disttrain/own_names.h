/* own_names.h: refuses the $WINDLASS_ names of a DistTrain's command, prepare and environment that
 * have no value where they start. The agent would end the job there (agent/launch/gang/
 * environment.h, which says who has which). Pure. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* spec: with defaults. INVALID: "spec.command[4]: $WINDLASS_OUTPUT_X is not replaced there...". */
NODISCARD int own_names_check(const json_t *spec, struct error *err);
