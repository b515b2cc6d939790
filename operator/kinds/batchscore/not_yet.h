/* not_yet.h: the fields that are described, checked and planned, but that the agent does not carry
 * out yet. Each is refused by its name: nothing is silently ignored. What is left goes with its
 * step of docs/batchscore-plan.md, and this file with the last. Pure. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* ERROR_INVALID and "spec.output.path: is not carried out yet by this version; ...". */
NODISCARD int not_yet_check(const json_t *object, struct error *err);
