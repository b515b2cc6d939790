/* trial.h: the trials of a Sweep as objects: DistTrains, made from spec.trial and the values at a
 * point. Pure. */
#pragma once

#include "operator/kinds/disttrain/cache_transform.h" /* ANNOTATION_TRIAL */
#include "operator/kinds/sweep/spec.h"
#include "operator/schema.h"

#define ROLE_TRIAL "trial"

/* Whether that is a name of the trial of that index, "NAME-0007" or one of the next (owned.h): any
 * user can write the annotation. */
bool trial_is_named(const char *sweep, int64_t index, const char *name);

/* The trial at a point; owned. train: DistTrain's definition. parent: the index of the trial whose
 * files it begins with, -1: none. A trainer then begins with that trial's model.onnx; a command's
 * outputs begin as copies of that trial's, made by `windlass-agent begin` as spec.prepare, which
 * runs the trial's own afterwards. */
json_t *trial_make(const struct sweep_spec *spec, const struct schema *train, int64_t index,
                   const double *units, int64_t parent);

/* The same for known values, {"NAME": "text"}: the trial as it was made, whether its object still
 * exists or not. */
json_t *trial_of_values(const struct sweep_spec *spec, const struct schema *train, int64_t index,
                        const json_t *values);

/* Which trial it is: by its annotation; or, if it has begun and somebody took the annotation off or
 * made it unreadable or another trial's, by its owner and name, and by its program's environment.
 * Other values under the right index are believed. (One that has not begun does not begin without
 * the annotation, owned_is_stripped.) False: neither says so. values: owned. */
bool trial_read(const json_t *trial, const struct space *space, int64_t *ret_index,
                json_t **ret_values);

/* The path of the model of that trial: trainer.output.path, or the path of the output that
 * spec.register names (the only one where it names none); borrowed from the trial's spec. INVALID:
 * "spec.register.output: ...". */
NODISCARD int trial_model_path(const json_t *registered, const json_t *trial_spec,
                               const char **ret_path, struct error *err);

/* Checks spec.trial against DistTrain's definition and rules, filled with the values of some
 * points: the middle of the space, and from there each parameter at its ends and at each of its
 * first choices. ERROR_INVALID and "spec.trial.trainer.epochs: is 0, at least 1 is needed (with
 * EPOCHS=0)". */
NODISCARD int trial_check(const json_t *object, const struct schema *train, struct error *err);
