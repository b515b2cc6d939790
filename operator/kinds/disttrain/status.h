/* status.h: a DistTrain's status: the part that all jobs share (conditions.h), and what its hub
 * reports. Pure.
 *
 * The hub's GET /progress and its termination message are one JSON object; all fields are optional:
 *   {"state": "Gathering" | "Preparing" | "Running" | "Stopping" | "Restarting" |
 *    "Succeeded" | "Failed",
 *    "reason": of Failed, one of those in crds/disttrain.yaml; "message": one line, cause first,
 *    "step": 1200, "epoch": 3, "loss": "0.31", "accuracy": "0.91", "samplesPerSecond": "4100",
 *    "lastLine": "epoch 3: 91 %": what the pod of index 0 has printed last; not with secrets,
 *    "firstLoss": "2.3": of a trainer, the loss of its first step,
 *    "trained": {"tensors": 20, "ofTensors": 22, "parameters": 3011, "ofParameters": 3043},
 *    "badSamples": {"count": 3}, "losses": {"OUTPUT": "0.31"}: of several outputs,
 *    "percent": 42, "secondsLeft": 120: as the program says by the status protocol of Kubeflow
 *    Trainer; "metrics": {"eval_loss": "0.4"}: what it has reported beyond these,
 *    "objective": {...}: agent/launch/gang/objective.h,
 *    "checkpoint": {"step": 1150}, "workers": {"registered": 4, "prepared": 4},
 *    "restarts": {"counted": 1, "disrupted": 0, "last": {"cause", "index", "rank", "exitCode",
 *    "message"}}, "lost": ["digits-2"]: pods to be replaced,
 *    "proof": {"by": "Ranks" | "Processes" | "Proxies" | "Command", "count": 4, "modelSHA256",
 *    "resultSHA256" or "resultMessage"}: of Succeeded,
 *    "storing": true while only NAME-0 still runs, to hash the outputs of a command,
 *    "outputs": ["out/model.onnx"]}
 */
#pragma once

#include "operator/kinds/disttrain/spec.h"
#include "operator/kinds/job/conditions.h"

/* object: the resource with its last status. spec: NULL when it could not be read. progress: the
 * hub's last answer; NULL: the fields stay unchanged. attempt: of the hub's pod; 0: there is none.
 * Owned by the caller. */
json_t *disttrain_status(const json_t *object, const struct disttrain_spec *spec,
                         const struct conditions *conditions, const json_t *progress, int attempt,
                         int64_t now_ms);
/* Copies what a hub reports to the status: only fields of the schema, with valid values, because
 * it is another program. */
void disttrain_status_live(json_t *status, const json_t *progress);
/* Whether a training has made things worse: its loss is above that of its first step. Texts of the
 * status; NULL or no number: not known. */
bool disttrain_loss_has_grown(const char *first, const char *last);
/* For a gang that is not complete, with spec.startDeadlineSeconds; 0: does not apply. */
struct gang_wait {
    int64_t since_ms; /* since when it has some nodes and waits for others */
    int64_t again_ms; /* it has released its nodes, and tries again at this time */
};
/* Sets status.gathering, or removes it when wait is empty. */
void disttrain_status_wait(json_t *status, const struct gang_wait *wait);
/* The cause of the last restart; takes `last`, NULL: it stays unchanged. */
void disttrain_status_last(json_t *status, json_t *last);
