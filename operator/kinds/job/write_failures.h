/* write_failures.h: what of a job could not be made lately, kept between passes: kept["troubles"],
 * and kept["refused"] while nothing is to be made. */
#pragma once

#include "operator/control/controller.h"

/* How a creation, or an apply, ended. */
void write_failures_note(json_t *kept, const struct written *written);
/* How the change of an object that is there ended; only that it is not allowed is noted, as
 * WRITE_FAILURES_CHANGE, its kind and its name: one that was deleted meanwhile, say, is none. */
void write_failures_note_change(json_t *kept, const struct written *written);
/* As plan wants it (job/plan.h); owned by the caller. */
json_t *write_failures_of(const struct reconcile *request, const json_t *kept);
