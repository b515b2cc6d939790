/* after_pass.h: spec.after and spec.parameters in a pass over a job: gathers the other jobs, by
 * whose changes the job is woken, and puts what they have, and the parameters' values, in place of
 * the references. */
#pragma once

#include "operator/control/reconcile.h"

struct after_pass {
    const json_t *given; /* request->object, without what was replaced */
    json_t *filled;      /* what it is meanwhile; NULL: the same */
    json_t *others;      /* for job_observed; NULL: it waits for none */
};

/* Ends with after_pass_end, whatever happens in between. */
void after_pass_begin(struct after_pass *pass, struct reconcile *request);
void after_pass_end(struct after_pass *pass, struct reconcile *request);
