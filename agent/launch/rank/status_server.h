/* status_server.h: takes the status that a program posts by the protocol of Kubeflow Trainer v2
 * (KEP-2779, trainer.kubeflow.org/v1alpha1), so that Hugging Face's KubeflowCallback, Kubeflow's
 * SDK (update_trainjob_status) and programs of one's own report as they do there, and the image has
 * nothing of Windlass.
 *
 * There a program posts to the controller, with a token of its pod's service account, and the
 * controller writes status.trainerStatus. Here it posts to the agent of its own pod:
 *
 *     program -- POST, HTTPS, 127.0.0.1 --> this server, a thread of the agent
 *                                            |  POSTED (agent_socket.h), lines of status_report.h
 *                                            v
 *                                           member -> hub -> GET /progress -> the job's status
 *
 * so no port is open to other pods, the API server has no further load, and a post counts as
 * progress of rank 0 (hangSeconds) and for spec.metrics, as `windlass-agent metric` does. Each pod
 * has one, since the rank that knows the loss may be any; the last post wins, as there.
 *
 * Programs find it by KUBEFLOW_TRAINER_SERVER_URL, _SERVER_TOKEN and _SERVER_CA_CERT
 * (environment.h; the two latter are paths), and by the names of before Trainer 2.2's release,
 * KUBEFLOW_TRAINER_STATUS_… The token is random, in a file that only the pod's user reads: loopback
 * is shared with other users by `windlass run`, and by pods with hostNetwork. Answers: 200 with
 * what was read; 403: not the token; 404: another path or no round; 405: not a POST; 410: of a
 * round before one that has posted; 422: names the field; 503: the agent ends, or the hub is away
 * for 5 s: then the post counts once it is back. Bodies beyond STATUS_REPORT_BODY_MAX are not read.
 */
#pragma once

#include "lib/error.h"

struct status_server;

/* What programs need; paths and texts are the server's. */
struct status_server_place {
    const char *url;   /* https://127.0.0.1:PORT/status; programs get URL/ROUND, so that posts of
                          one that has outlived its round do not count in the next */
    const char *token; /* the path of a file with the token, mode 0600, ... */
    const char *authority; /* ... and with the certificate that clients trust, PEM */
};

/* Listens on a free port, and writes the files into `folder`, which must be there. socket: the path
 * of the agent's socket, which may be opened later. */
NODISCARD int status_server_open(const char *folder, const char *socket,
                                 struct status_server **ret_server, struct error *err);
/* All NULL without a server. */
struct status_server_place status_server_find(const struct status_server *server);
/* Call it when the agent's socket is closed: a post may wait for it. Accepts NULL. */
void status_server_free(struct status_server *server);
