/* credentials.h: creates the token and the TLS certificate that a job's pods use among themselves,
 * and keeps them in memory between passes until the Secret with them is stored and in use. */
#pragma once

#include "operator/control/controller.h"
#include "operator/kinds/job/plan.h"

/* The job begins, as far as its kind says nothing else, and has none yet. Known before the plan,
 * which would only say that it needs them. */
bool job_credentials_are_missing(const struct job_observed *observed);
/* The Secret's name is random, so that it never collides with one of an earlier, unconfirmed
 * creation. The caller frees the result with job_credentials_free. */
NODISCARD int job_credentials_make(const json_t *object, struct credentials **ret_credentials,
                                   struct error *err);
void job_credentials_free(struct credentials *credentials);
/* Records how the write of a Secret ended. *credentials is freed and becomes NULL
 * when they cannot be used. */
void job_credentials_note(struct credentials **credentials, const struct written *written);
