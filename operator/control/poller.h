/* poller.h: polls URLs over HTTPS, for the progress that coordinators and hubs report. Each URL has
 * a key. A key is polled about once a second; with more than 50 keys less often, because all keys
 * together start at most 50 requests a second. When keys with and without priority are both due, 40
 * of the 50 requests go to those with priority. So up to 40 keys with priority are polled every
 * second, and n of them every n/40 seconds, no matter how many other keys there are. Each request
 * opens a new connection. Nothing blocks. Used by one thread. */
#pragma once

#include "lib/error.h"

enum {
    POLLER_PER_SECOND = 50,
    POLLER_PRIORITY_PER_SECOND = 40, /* of these, for keys with priority */
    POLLER_EVERY_MS = 1000,          /* from one request of a key to the next, at least */
    POLLER_RETRY_MS = 100,           /* after a failure, doubling up to the interval */
    POLLER_TIMEOUT_MS = 3000,        /* for one answer */
    POLLER_MAX_BYTES = 64 << 10      /* of its body, at most */
};

struct poller;

/* Called from poller_step for a key whose answer differs from the one before, or follows a request
 * that failed; not for a failure. May call the functions below. */
typedef void poller_listener(void *context, const char *key);

NODISCARD int poller_open(poller_listener *listener, void *context, struct poller **ret_poller,
                          struct error *err);
void poller_free(struct poller *poller); /* NULL is allowed */

/* Whom to ask. read_token: sent in the header SERVER_READ_HEADER (lib/net/server.h); NULL: the
 * server is older and wants none. certificate_pem: the only certificate that is accepted from it.
 */
struct poller_target {
    const char *url, *certificate_pem, *read_token;
};

/* Starts to poll the URL, unless it is polled already, and returns the body of the last answer with
 * status 200, borrowed until the next call of any function; NULL when there is none yet or the last
 * request failed. With a different target the key starts over. The priority may change from call to
 * call. */
const char *poller_get(struct poller *poller, const char *key, const struct poller_target *place,
                       bool has_priority);
/* Stops polling. */
void poller_stop(struct poller *poller, const char *key);
size_t poller_count(const struct poller *poller); /* keys that are polled */
/* How often a key with or without priority is polled, given the current number of keys: at least
 * POLLER_EVERY_MS. */
int64_t poller_interval_ms(const struct poller *poller, bool has_priority);

/* Reads the answers that have arrived and starts the requests that are due; never waits. */
NODISCARD int poller_step(struct poller *poller, struct error *err);
/* The latest time for the next step (clock_monotonic_ms); INT64_MAX: not before poller_fd is
 * readable. */
int64_t poller_next_ms(struct poller *poller);
/* A descriptor for poll; it is readable when there is something to read. */
int poller_fd(const struct poller *poller);
