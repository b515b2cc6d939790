/* derived_train.h: the manifest of a network and training data (`windlass train`). Pure. */
#pragma once

#include "operator/kinds/kind_train.h"

/* INVALID: a new network needs what is unknown; the message names the options that say it. */
NODISCARD int derived_train(const struct kind_train *job, struct kind_scored *ret_made,
                            struct error *err);
