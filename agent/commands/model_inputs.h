/* model_inputs.h: made-up inputs for a model that is timed. Used by bench and profile. */
#pragma once

#include "agent/engine/run/session.h"
#include "lib/options.h"

/* One tensor per input of the session, which the caller releases with model_inputs_free. pairs:
 * --shape NAME=1x3x512x512, needed for inputs of no fixed shape. Numbers of float32 inputs are
 * those of a picture's bytes, 0 to 255: what networks see; zeros would flatter some kernels. Others
 * are zeros. */
NODISCARD int model_inputs_make(const struct session *session, const struct option_list *pairs,
                                struct tensor **ret_inputs, struct error *err);
void model_inputs_free(const struct session *session, struct tensor *inputs);
