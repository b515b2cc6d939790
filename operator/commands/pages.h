/* pages.h: what the controller says of itself over plain HTTP, from a thread of its own: /healthz
 * (its loop turns), /readyz (it does what it is there for), /metrics (operator_metrics.h). The
 * other functions are for the controller's thread. */
#pragma once

#include "lib/error.h"

/* A loop that has not turned for so long is stuck. */
enum { PAGES_STUCK_MS = 60000 };

struct pages;

/* bind: "ADDRESS:PORT". NULL: port 8080 of all addresses, IPv4 alone where the machine has no IPv6.
 * All signals must be blocked: the thread takes none. */
NODISCARD int pages_open(const char *bind, struct pages **ret_pages, struct error *err);
void pages_free(struct pages *pages);

/* Where they are: "http://127.0.0.1:8080"; the caller frees. */
char *pages_address(const struct pages *pages);

/* The loop has turned. */
void pages_beat(struct pages *pages);
/* What /readyz says: 200 and the state, or 503. state is a literal: "leads", "stands by". */
void pages_set_state(struct pages *pages, bool is_ready, const char *state);
