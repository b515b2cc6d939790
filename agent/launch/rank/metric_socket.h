/* metric_socket.h: sends metrics (metric.h) from the ranks to the agent of their pod. Each one
 * counts as progress of its rank (hangSeconds), and GET /progress shows the newest of rank 0
 * (latest_metrics.h). There are two ways:
 *
 * metric_send sends a datagram to the unix socket $WINDLASS_METRICS. It never waits, and the metric
 * may be lost: for what is only shown.
 *
 * metric_report sends a request and waits for the answer (agent_socket.h, $WINDLASS_SOCKET). No
 * metric is lost, and a program that is too fast waits: for spec.metrics (objective.h).
 * `windlass-agent metric` uses it. */
#pragma once

#include "agent/launch/rank/metric.h"
#include "lib/error.h"

/* ---- ranks ---------------------------------------------------------------------------------- */

/* Sends a metric of this rank, whose number comes from the variables of MPI, torchrun or Windlass.
 * Never waits: if the socket is full or no agent listens, the metric is dropped. Any thread. */
void metric_send(const char *name, double value, int64_t step);
/* The same, but waits until the agent has it. Does nothing outside a pod of a DistTrain. INVALID:
 * not a valid name or step; UNAVAILABLE: the agent has ended. */
NODISCARD int metric_report(const char *name, double value, int64_t step, struct error *err);
/* Several, in their order; `rank` is ignored. */
NODISCARD int metric_report_all(const struct metric *metrics, size_t count, struct error *err);
/* Reports to the agent what keeps this rank from storing its result, for GET /progress; "": nothing
 * any more. That the agent does not answer does not matter. */
void metric_say_waits(const char *why);

/* ---- the agent's side ----------------------------------------------------------------------- */

struct metric_socket;
/* Listens for datagrams at that path; replaces a file that is there. */
NODISCARD int metric_socket_open(const char *path, struct metric_socket **ret_socket,
                                 struct error *err);
void metric_socket_free(struct metric_socket *socket); /* accepts NULL */
/* Takes the next metric; invalid datagrams are skipped. False: none is waiting. */
bool metric_socket_take(struct metric_socket *socket, struct metric *ret_metric);
