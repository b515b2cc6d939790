/* pages.h: the controller's pages over plain HTTP, served by a thread of their own: /healthz (its
 * loop runs), /readyz (it does its work), /metrics (operator_metrics.h). The other functions are
 * called from the controller's thread. */
#pragma once

#include "lib/error.h"

/* A loop that has not run for this long is stuck. */
enum { PAGES_STUCK_MS = 60000 };

struct pages;

/* bind: "ADDRESS:PORT". NULL: port 8080 of all addresses, IPv4 only on a machine without IPv6. All
 * signals must be blocked, because the thread handles none. */
NODISCARD int pages_open(const char *bind, struct pages **ret_pages, struct error *err);
void pages_free(struct pages *pages);

/* The address of the pages: "http://127.0.0.1:8080". The caller frees it. */
char *pages_address(const struct pages *pages);

/* Records that the loop has run once more. */
void pages_beat(struct pages *pages);
/* Sets the answer of /readyz: 200 and the state, or 503. state is a literal: "leads", "stands by".
 */
void pages_set_state(struct pages *pages, bool is_ready, const char *state);
