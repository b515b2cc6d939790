/* derived_sweep.h: the sweep over some fields of a training (`windlass sweep`). Pure. */
#pragma once

#include "operator/kinds/kind_train.h"
#include "operator/schema.h"

/* made: the definition of the training. INVALID: a field that it does not have, or that is not one
 * value; not a range; no metric is known. */
NODISCARD int derived_sweep(const struct kind_sweep *sweep, const struct schema *made,
                            struct kind_scored *ret_made, struct error *err);
