/* write_failures.h: recent write failures of a job, kept between passes: kept["troubles"], and
 * kept["refused"] while creations pause. */
#pragma once

#include "operator/control/controller.h"

/* Records how a creation, or an apply, ended. */
void write_failures_note(json_t *kept, const struct written *written);
/* Records how the change of an existing object ended. Only a change that is not allowed is kept, as
 * WRITE_FAILURES_CHANGE, its kind and its name; other failures, such as a deletion meanwhile, are
 * not. */
void write_failures_note_change(json_t *kept, const struct written *written);
/* The form that plan needs (job/plan.h); owned by the caller. */
json_t *write_failures_of(const struct reconcile *request, const json_t *kept);
