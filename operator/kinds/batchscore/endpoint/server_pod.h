/* server_pod.h: spec.scorer.endpoint.server in a worker's pod: a container with the user's image,
 * in which our shim runs the server (agent/serve/serve.h), beside the agent's. Pure. */
#pragma once

#include "operator/kinds/batchscore/spec.h"

/* Adds the container, and what it shares with the agent's. Without a server: nothing. */
void server_pod_add(const struct batchscore_spec *spec, json_t *pod);
/* Whether its command or environment refers to $(WINDLASS_PORT). */
bool server_pod_has_port(const json_t *spec);
