/* trial_spec.h: a trial's DistTrain spec, made from spec.trial and the values at a point. Pure. */
#pragma once

#include "lib/tree.h"

/* Replaces in texts, but not in keys, every $(NAME) whose NAME is in values ({"NAME": "text"}) by
 * its value; a text with a NAME whose value is null, a parameter that is not active, is left out: a
 * field takes its default, a list has one element less. This applies when an even number of $ (or
 * none) precedes it. All other text, including $$, is left for the pod and the agent. A text that
 * is exactly $(NAME) gets the schema's type: a whole number, true or false. schema: of the tree,
 * NULL: none. A new tree; NULL where the tree is such a text. */
json_t *trial_spec_fill(const json_t *tree, const json_t *schema, const json_t *values);

/* Whether a text of the tree has such a $(NAME). */
bool trial_spec_uses(const json_t *tree, const char *name);
/* Whether a list of the tree has the element $(NAME), alone, after one that begins with "-": left
 * out, it would leave that option without its value. */
bool trial_spec_follows_option(const json_t *tree, const char *name);

/* A trial's program finds the value of the parameter NAME in this variable, with NAME at its end.
 */
#define TRIAL_SPEC_VARIABLE "PARAM_"

/* What every trial's DistTrain spec gets in addition. */
struct trial_spec_extras {
    const json_t *values;
    const json_t *metrics; /* the fields of spec.metrics that the Sweep sets; the trial's other
                              fields stay (pattern, file) */
    const char *folder;    /* "NAME-UID8/0007": appended to each path that is written */
};
/* Adds in place: the environment PARAM_NAME and PYTHONUNBUFFERED=1 (without it Python's output to a
 * pipe would arrive only at the end; the user's own variables take precedence); metrics;
 * ttlSecondsAfterFinished 3600 when not given; and the trial's folder at the end of
 * trainer.output.path, outputs[].path and logs.path, so that a trial never finds the checkpoint of
 * another trial, or of an earlier sweep of the same name. */
void trial_spec_extend(json_t *spec, const struct trial_spec_extras *extras);
