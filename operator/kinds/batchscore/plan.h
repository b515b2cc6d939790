/* plan.h: what a BatchScore should look like now. PURE: no I/O, no clock, no randomness, so that
 * every decision is a row in tests/data/plan/ and a restarted controller goes on where the last one
 * was. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* What the controller has seen of one resource. All borrowed; NULL = not there (yet). */
struct batchscore_observed {
    const json_t *object;   /* the BatchScore, spec with defaults filled in */
    const json_t *service;  /* the coordinator's Service, with its clusterIP and, as annotations:
                               windlass.dev/certificate (PEM), windlass.dev/certificate-sha256,
                               windlass.dev/secret (the Secret of token, key, certificate) */
    const json_t *pods;     /* array of the job's Pods, any order */
    const json_t *progress; /* the coordinator's last /progress answer; NULL if none came */
};

/* Result, owned by the caller:
 * {"apply":   [objects to apply, in order],
 *  "delete":  [{"kind": "Pod", "name": ...}],
 *  "needs":   "Credentials"      reconcile must make a token and a certificate and the Service,
 * then ask again "status":  {...}              the whole new status of the resource "again_ms":
 * 1000}             ask again after this long even if nothing happens; absent: never plan(plan(x))
 * makes no change: applying the result and asking again gives nothing to apply. */
NODISCARD int batchscore_plan(const struct batchscore_observed *observed, int64_t now_ms,
                              json_t **ret_result, struct error *err);
