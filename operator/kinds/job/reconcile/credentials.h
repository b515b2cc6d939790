/* credentials.h: token and certificate of a job. They are created here and kept between passes
 * until the Secret is known to be stored and in use. */
#pragma once

#include "operator/control/controller.h"
#include "operator/kinds/job/owned.h"

/* The Secret's name is random, so that it never collides with one of an earlier, unconfirmed
 * creation. The texts of the result are its own: job_credentials_free. */
NODISCARD int job_credentials_make(const json_t *object, struct credentials **ret_credentials,
                                   struct error *err);
void job_credentials_free(struct credentials *credentials);
/* Records how the write of a Secret ended. *credentials becomes NULL when they are of no use. */
void job_credentials_note(struct credentials **credentials, const struct written *written);
