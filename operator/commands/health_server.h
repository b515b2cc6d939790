/* health_server.h: the controller's HTTP server, in a thread of its own: /healthz answers 200 while
 * the control loop runs, /readyz while the controller does its work, /metrics with the metrics of
 * operator_metrics.h. The functions below are called from the controller's thread. */
#pragma once

#include "lib/error.h"

/* Without a health_server_beat for this long, /healthz answers 503: the loop is stuck. */
enum { HEALTH_SERVER_STUCK_MS = 60000 };

struct health_server;

/* bind: "ADDRESS:PORT". NULL: port 8080 of all addresses, IPv4 only on a machine without IPv6.
 * has_metrics: false if metrics_server.h serves /metrics. The caller must have blocked all signals,
 * because the new thread handles none. */
NODISCARD int health_server_open(const char *bind, bool has_metrics,
                                 struct health_server **ret_server, struct error *err);
void health_server_free(struct health_server *server);

/* "http://127.0.0.1:8080". The caller frees it. */
char *health_server_address(const struct health_server *server);

/* Call it in every turn of the control loop. */
void health_server_beat(struct health_server *server);
/* Sets the answer of /readyz: status 200 or 503, with the state as its text. state is a literal:
 * "leads", "stands by". */
void health_server_set_state(struct health_server *server, bool is_ready, const char *state);
