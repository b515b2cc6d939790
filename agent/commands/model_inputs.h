/* model_inputs.h: generated inputs for timing a model. Used by bench and profile. */
#pragma once

#include "agent/engine/session.h"
#include "lib/options.h"

/* One tensor per input of the session, which the caller releases with model_inputs_free. pairs:
 * --shape NAME=1x3x512x512, needed for inputs without a fixed shape. float32 inputs get values from
 * 0 to 255, as the bytes of pictures have in practice; some kernels are faster with zeros. Other
 * inputs are zeros. */
NODISCARD int model_inputs_make(const struct session *session, const struct option_list *pairs,
                                struct tensor **ret_inputs, struct error *err);
void model_inputs_free(const struct session *session, struct tensor *inputs);
