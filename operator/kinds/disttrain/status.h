/* status.h: a DistTrain's status: what every job's says (conditions.h), and what its hub tells.
 * Pure.
 *
 * GET /progress of the hub, and its termination message, one JSON object; everything may be absent:
 *   {"state": "Gathering" | "Preparing" | "Running" | "Stopping" | "Restarting" |
 *    "Succeeded" | "Failed",
 *    "reason": of Failed, one of those in crds/disttrain.yaml; "message": one line, cause first,
 *    "step": 1200, "epoch": 3, "loss": "0.31", "accuracy": "0.91", "samplesPerSecond": "4100",
 *    "objective": {...}: agent/launch/gang/objective.h,
 *    "checkpoint": {"step": 1150}, "workers": {"registered": 4, "prepared": 4},
 *    "restarts": {"counted": 1, "disrupted": 0, "last": {"cause", "index", "rank", "exitCode",
 *    "message"}}, "lost": ["digits-2"]: pods that are to be replaced,
 *    "outputs": ["out/model.onnx"]} */
#pragma once

#include "operator/kinds/disttrain/spec.h"
#include "operator/kinds/job/conditions.h"

/* object: the resource with its last status. spec: NULL when it could not be read. progress: what
 * the hub said last, or NULL: what stands there stays. attempt: of the hub's pod; 0: there is none.
 * Owned by the caller. */
json_t *gang_status(const json_t *object, const struct disttrain_spec *spec,
                    const struct conditions *conditions, const json_t *progress, int attempt,
                    int64_t now_ms);
/* Of a gang that is not whole, with spec.startDeadlineSeconds; 0: no. */
struct gang_wait {
    int64_t since_ms; /* since when it holds some nodes and waits for others */
    int64_t again_ms; /* it has none, and comes again then */
};
/* status.gathering; goes where there is nothing to say. */
void gang_status_wait(json_t *status, const struct gang_wait *wait);
/* Why all start again; takes `last`, NULL: what stands there stays. */
void gang_status_last(json_t *status, json_t *last);
