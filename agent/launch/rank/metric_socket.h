/* metric_socket.h: metrics (metric.h) from the ranks to the agent of their pod. A rank that sends
 * one makes progress (hangSeconds); GET /progress shows the newest of rank 0 (figures.h).
 *
 * There are two ways. metric_send is a datagram to the unix socket $WINDLASS_METRICS: it never
 * waits and may be lost, so it is for what is only shown. metric_report is a request with an answer
 * (shell.h, $WINDLASS_SOCKET): none is lost, and a program that is too fast waits. It is for what
 * counts for spec.metrics (objective.h). `windlass-agent metric` reports. */
#pragma once

#include "agent/launch/rank/metric.h"
#include "lib/error.h"

/* ---- ranks ---------------------------------------------------------------------------------- */

/* For this rank, as MPI, torchrun or windlass number it. Never waits: without room in the socket,
 * or without an agent, the metric is dropped. Any thread. */
void metric_send(const char *name, double value, int64_t step);
/* The same, but waits until the agent has it. Without an agent nothing happens. INVALID: not a
 * metric's name or step; UNAVAILABLE: the agent has ended. */
NODISCARD int metric_report(const char *name, double value, int64_t step, struct error *err);

/* ---- the agent's side ----------------------------------------------------------------------- */

struct metric_socket;
/* Listens at that path; replaces what was there. */
NODISCARD int metric_socket_open(const char *path, struct metric_socket **ret_socket,
                                 struct error *err);
void metric_socket_free(struct metric_socket *socket); /* NULL is fine */
/* The next metric received; invalid datagrams are skipped. False: none is waiting. */
bool metric_socket_take(struct metric_socket *socket, struct metric *ret_metric);
