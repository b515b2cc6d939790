/* credentials.h: token and certificate of a job, made here and kept between passes until the Secret
 * is known to be stored: kept["credentials"]. */
#pragma once

#include "operator/control/controller.h"
#include "operator/kinds/job/owned.h"

/* Their name is random: what an earlier, unconfirmed creation left is never met again. */
NODISCARD int credentials_make(json_t *kept, const json_t *object, struct error *err);
/* Borrowed from kept; false when there are none. */
bool credentials_read(const json_t *kept, struct credentials *ret_credentials);
/* How the writing of a Secret ended. */
void credentials_note(json_t *kept, const struct written *written);
