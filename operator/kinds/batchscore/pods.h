/* pods.h: a BatchScore's objects, made: the coordinator's and the workers' Pods, the Secret and the
 * Service. What a pod is told is the contract of docs/architecture.md. Pure. */
#pragma once

#include "operator/kinds/batchscore/spec.h"

/* Where the workers find the coordinator, and whom they trust. Texts are borrowed. */
struct endpoint {
    const char *address; /* the Service's clusterIP */
    int64_t port;
    const char *certificate_sha256;
    const char *secret; /* name of the Secret */
};

/* False until the Service has an address and our annotations. */
bool endpoint_read(const json_t *service, struct endpoint *ret_endpoint);

/* attempt counts from 1: NAME-coordinator-1; NAME-worker-0, NAME-worker-0-2. Owned by the caller.
 */
json_t *pods_coordinator(const struct batchscore_spec *spec, const struct endpoint *endpoint,
                         int attempt);
json_t *pods_worker(const struct batchscore_spec *spec, const struct endpoint *endpoint, int index,
                    int attempt);
