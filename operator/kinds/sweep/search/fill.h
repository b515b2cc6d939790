/* fill.h: a trial's DistTrain spec, made of spec.trial and the values at a point. Pure. */
#pragma once

#include "lib/tree.h"

/* Of texts, not of keys, every $(NAME) whose NAME is in values ({"NAME": "text"}) becomes its
 * value, where no or an even number of $ stands before it; all else, $$ too, is left to the pod and
 * the agent. A text that is nothing but $(NAME) takes the type that the schema has there: a whole
 * number, true or false. schema: of the tree, NULL: none. A new tree. */
json_t *fill_texts(const json_t *tree, const json_t *schema, const json_t *values);

/* Whether a text of the tree has such a $(NAME). */
bool fill_uses(const json_t *tree, const char *name);

/* What every trial gets besides, in place, of a DistTrain's spec: */
struct fill_extras {
    const json_t *values;
    const json_t *metrics; /* the fields of spec.metrics that the Sweep says; what the trial's own
                              has besides stays (pattern, file) */
    const char *folder;    /* "NAME-UID8/0007": below each path that is written */
};
/* environment PARAM_NAME and PYTHONUNBUFFERED=1 (into a pipe Python's output would come at the end;
 * the user's own win), metrics, ttlSecondsAfterFinished 3600 where none is given, and the folder of
 * the trial's own at the end of trainer.output.path, outputs[].path and logs.path, so that no trial
 * meets another's checkpoint, nor that of an earlier sweep of the name. */
void fill_extras(json_t *spec, const struct fill_extras *extras);
