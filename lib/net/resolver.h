/* resolve.h: names of hosts to addresses, by c-ares: /etc/hosts, then the servers of
 * /etc/resolv.conf, both read anew with each question. glibc's own resolver loads libraries while
 * it runs, which a static program cannot. Any thread may use one resolver. Blocks. */
#pragma once

#include "lib/error.h"

enum { RESOLVER_KEPT_MS = 30000 }; /* for so long an answer is not asked for again */

struct resolver;

/* servers: "127.0.0.1:5353,[::1]:53" instead of those of /etc/resolv.conf, or NULL. */
struct resolver *resolver_new(const char *servers);
void resolver_free(struct resolver *resolver); /* NULL is fine */

/* "ADDRESS,ADDRESS", at most 8, as http.h takes them; the caller frees. A host that is an address
 * is its own answer. NOT_FOUND: there is no such host; INVALID: no host's name; UNAVAILABLE,
 * TIMEOUT: the servers do not say. */
NODISCARD int resolver_find(struct resolver *resolver, const char *host, int timeout_ms,
                            char **ret_addresses, struct error *err);
