/* metric.h: figures of a training (loss, step) from its ranks to the agent of their pod. Who says
 * one moves (hangSeconds); GET /progress has the newest of rank 0 that it knows (figures.h).
 *
 * Two ways. metric_send: a datagram, the text "RANK NAME VALUE STEP" to the unix socket
 * $WINDLASS_METRICS; it never waits and may be lost, for what only shows. metric_report: asked and
 * answered (shell.h, $WINDLASS_SOCKET), so that none is lost and a program that is too fast waits:
 * what counts for spec.metrics (objective.h). `windlass-agent metric` reports. */
#pragma once

#include "lib/error.h"

enum { METRIC_NAME_MAX = 63, METRIC_TEXT_MAX = 160 };

struct metric {
    int rank;
    char name[METRIC_NAME_MAX + 1]; /* letters, digits, "_", ".", "-", "/", "@", "=" */
    double value;                   /* may be no number, too */
    int64_t step;                   /* -1: it was not told */
};

/* Of this rank, as MPI, torchrun or windlass number it. Never waits: what has no room, or nobody
 * who takes it, is gone. Any thread. */
void metric_send(const char *name, double value, int64_t step);
/* The same, and waits until the agent has it. Where there is no agent nothing happens. INVALID: it
 * is none; UNAVAILABLE: the agent has ended. */
NODISCARD int metric_report(const char *name, double value, int64_t step, struct error *err);
bool metric_is_name(const char *name);

/* ---- the agent's side ----------------------------------------------------------------------- */

/* A text, or a line of several: the value as it is, to the last bit. */
void metric_write(const struct metric *metric, char text[static METRIC_TEXT_MAX]);
/* False: it is no metric. */
bool metric_read(const char *text, struct metric *ret_metric);

struct metric_socket;
/* Listens at that path; what was there goes. */
NODISCARD int metric_socket_open(const char *path, struct metric_socket **ret_socket,
                                 struct error *err);
void metric_socket_free(struct metric_socket *socket); /* NULL is fine */
/* The next that has come; what makes no sense is passed over. False: there is none now. */
bool metric_socket_take(struct metric_socket *socket, struct metric *ret_metric);
