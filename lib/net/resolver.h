/* resolver.h: resolves host names with c-ares: /etc/hosts, then the servers of /etc/resolv.conf,
 * both read again for each query. glibc's resolver loads libraries at run time, which a static
 * program cannot. Thread-safe; blocks. */
#pragma once

#include "lib/error.h"

enum { RESOLVER_KEPT_MS = 30000 }; /* how long an answer is cached */

struct resolver;

/* servers: "127.0.0.1:5353,[::1]:53", or NULL for those of /etc/resolv.conf. */
struct resolver *resolver_new(const char *servers);
void resolver_free(struct resolver *resolver); /* accepts NULL */

/* *ret_addresses: "ADDRESS,ADDRESS", at most 8, as http.h wants them; the caller frees. An address
 * resolves to itself. NOT_FOUND: the host does not exist; INVALID: not a host name; UNAVAILABLE,
 * TIMEOUT: no answer from the servers. */
NODISCARD int resolver_find(struct resolver *resolver, const char *host, int timeout_ms,
                            char **ret_addresses, struct error *err);
