/* registrar.h: the pod that copies the best trial's model into a registry, spec.register:
 * NAME-register runs `windlass-agent register` (agent/commands/register.h) with what the trial had
 * of volumes, stores, account and template. What that trial was is made again of its values: its
 * object may be gone by then. Pure. */
#pragma once

#include "operator/kinds/job/spec.h"
#include "operator/kinds/sweep/spec.h"
#include "operator/schema.h"

#define ROLE_REGISTER "register"

/* Where the model of that trial is: trainer.output.path, or the path of the output that
 * spec.register names (the only one where it names none); borrowed from the trial's spec. INVALID:
 * "spec.register.output: ...". */
NODISCARD int registrar_from(const json_t *registered, const json_t *trial_spec,
                             const char **ret_path, struct error *err);

/* "models/registry/digits/20261122T094400Z-1a2b3c4d": what it is registered as: of the Sweep alone,
 * so that each attempt writes the same. The caller frees. */
char *registrar_place(const struct sweep_spec *spec);

/* best: status.best. jobs: NULL is what is our own. attempt counts from 1: NAME-register,
 * NAME-register-2; deaths: before it. Its LABEL_INDEX is the trial's. Owned by the caller. Fails
 * where that trial's spec is none any more (of a newer definition, say). */
NODISCARD int registrar_pod(const struct sweep_spec *spec, const struct schema *train,
                            const struct job_options *jobs, const json_t *best, int attempt,
                            int deaths, json_t **ret_pod, struct error *err);
