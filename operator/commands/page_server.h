/* page_server.h: a server of pages (lib/net/server.h) in a thread of its own. The caller has
 * blocked all signals, because the new thread handles none. */
#pragma once

#include "lib/net/server.h"

struct page_server;

/* Called from the thread with options.context, every ten seconds at least. */
typedef void page_server_turn(void *context, struct server *server);

/* As server_open; options.events and turn (may be NULL) are called from the new thread. */
NODISCARD int page_server_open(const struct server_options *options, page_server_turn *turn,
                               struct page_server **ret_server, struct error *err);
/* Ends the thread. False: it still answers a request after wait_ms; then page_server_free waits for
 * that. */
bool page_server_end(struct page_server *server, int wait_ms);
void page_server_free(struct page_server *server); /* ends the thread; accepts NULL */
int page_server_port(const struct page_server *server);
