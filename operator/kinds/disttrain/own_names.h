/* own_names.h: refuses the $WINDLASS_ names of a DistTrain's command, prepare and environment that
 * have no value where they start. The agent would end the job there (agent/launch/gang/
 * environment.h, which says who has which). Pure. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* The names that have a value where spec.prepare, or the command and its variables, start, in every
 * pod that they start in. A list that ends with NULL; text_list_free frees it. */
char **own_names_list(const json_t *spec, bool prepares);
/* spec: with defaults. INVALID: "spec.command[4]: $WINDLASS_OUTPUT_X is not replaced there...". */
NODISCARD int own_names_check(const json_t *spec, struct error *err);
