/* pods.h: creates a BatchScore's objects: the coordinator's and the workers' Pods.
 * docs/pod-contract.md is the contract of their environment. Pure. */
#pragma once

#include "operator/kinds/batchscore/spec.h"
#include "operator/kinds/job/owned.h"

#define ROLE_COORDINATOR "coordinator"
#define ROLE_WORKER "worker"

/* attempt counts from 1: NAME-coordinator-1; NAME-worker-0, NAME-worker-0-2. Owned by the caller.
 */
json_t *batchscore_coordinator_pod(const struct batchscore_spec *spec,
                                   const struct endpoint *endpoint, int attempt);
/* A variable for the agent in a pod of ours; its text arrives as it is. */
void batchscore_add_text(json_t *pod, const char *name, const char *text);
/* The coordinator's pod leaves a node that is lost after 60 s instead of the cluster's 300, unless
 * the spec tolerates these taints itself. */
void batchscore_leave_lost_nodes(json_t *pod);
json_t *batchscore_worker_pod(const struct batchscore_spec *spec, const struct endpoint *endpoint,
                              int index, int attempt);
/* The pod that waits until run `number` of a series is due (series.h): NAME-watch-8. mark: of the
 * run before. */
json_t *batchscore_watch_pod(const struct batchscore_spec *spec, int64_t number, int attempt,
                             const char *mark);
