/* plan.h: what a BatchScore should look like now. PURE: no I/O, no clock, no randomness, so that
 * every decision is a row in tests/data/plan/ and a restarted controller goes on where the last one
 * was. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* On the Service. */
#define ANNOTATION_CERTIFICATE "windlass.dev/certificate" /* PEM */
#define ANNOTATION_CERTIFICATE_SHA256 "windlass.dev/certificate-sha256"
#define ANNOTATION_SECRET "windlass.dev/secret" /* the Secret's name */
/* Keys of the Secret. */
#define SECRET_TOKEN "token"
#define SECRET_CERTIFICATE "tls.crt"
#define SECRET_KEY "tls.key"
/* On pods: which replacement this is, from 1. */
#define LABEL_ATTEMPT "windlass.dev/attempt"
#define LABEL_INDEX "windlass.dev/index" /* of a worker, from 0 */

/* The Service's port. A cluster without an address per Service may store another one: pods are told
 * what stands in the stored Service. */
enum { BATCHSCORE_PORT = 8443 };

struct batchscore_options;

/* What the controller has seen of one resource. All borrowed; NULL = not there (yet). */
struct batchscore_observed {
    const json_t *object;   /* the BatchScore, spec with defaults filled in */
    const json_t *service;  /* the coordinator's Service with its clusterIP and our annotations */
    const json_t *pods;     /* array of the job's Pods, any order */
    const json_t *progress; /* the coordinator's last /progress answer; NULL if none came */
    const struct batchscore_options *options; /* what the controller was started with */
};

/* Result, owned by the caller:
 *   "apply"     objects to apply, in order
 *   "delete"    [{"kind": "Pod", "name": ...}]
 *   "needs"     "Credentials": make a token and a certificate, apply batchscore_credentials, ask
 *               again; else absent
 *   "status"    the whole status that the resource should have (the observed one when nothing
 *               changed: write it only when it differs)
 *   "again_ms"  ask again after this long even if nothing happens; absent: no need
 * plan(plan(x)) makes no change: applying the result and asking again gives nothing to apply. */
NODISCARD int batchscore_plan(const struct batchscore_observed *observed, int64_t now_ms,
                              json_t **ret_result, struct error *err);

struct credentials {
    const char *token, *certificate, *certificate_sha256, *key; /* PEM; 64 hex digits */
};

/* [Secret, Service], owned by the caller: apply both, in order. */
json_t *batchscore_credentials(const json_t *object, const struct credentials *credentials);

/* True when the resource has reached its end: Succeeded is True or False. */
bool batchscore_is_finished(const json_t *object);
