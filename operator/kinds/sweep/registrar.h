/* registrar.h: the pod that copies the best trial's model into a registry, spec.register.
 * NAME-register runs `windlass-agent register` (agent/commands/register.h) with the trial's
 * volumes, stores, account and template. The trial's spec is made again from its values, because
 * its object may be gone by then. Pure. */
#pragma once

#include "operator/kinds/job/spec.h"
#include "operator/kinds/sweep/spec.h"
#include "operator/kinds/sweep/trial_row.h"
#include "operator/schema.h"

#define ROLE_REGISTER "register"

/* "models/registry/digits/20261122T094400Z-1a2b3c4d": the path of the registered version. It
 * depends only on the Sweep, so that each attempt writes to the same place. The caller frees it. */
char *registrar_place(const struct sweep_spec *spec);

/* One attempt to register. All borrowed. */
struct registrar_attempt {
    const struct schema *train;     /* DistTrain's definition */
    const struct job_options *jobs; /* NULL: the defaults */
    const json_t *best;             /* status.best; the pod's LABEL_INDEX is this trial's */
    const struct trial_row *rows;   /* the trials, by ascending index */
    size_t count;
    int64_t made; /* how many trials there have been */
    int number;   /* from 1: NAME-register, NAME-register-2 */
    int deaths;   /* of earlier pods */
};

/* Owned by the caller. Fails when that trial's spec is no longer valid (because of a newer
 * definition, for example). */
NODISCARD int registrar_pod(const struct sweep_spec *spec, const struct registrar_attempt *attempt,
                            json_t **ret_pod, struct error *err);
