/* credentials.h: token and certificate of a job. They are created here and kept between passes, in
 * kept["credentials"], until the Secret is known to be stored. */
#pragma once

#include "operator/control/controller.h"
#include "operator/kinds/job/owned.h"

/* The Secret's name is random, so that it never collides with one of an earlier, unconfirmed
 * creation. */
NODISCARD int job_credentials_make(json_t *kept, const json_t *object, struct error *err);
/* Borrowed from kept; false when there are none. */
bool job_credentials_read(const json_t *kept, struct credentials *ret_credentials);
/* Records how the write of a Secret ended. */
void job_credentials_note(json_t *kept, const struct written *written);
