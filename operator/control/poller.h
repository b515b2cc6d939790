/* poller.h: repeated GETs over HTTPS, one per key, without blocking. A key is polled about every
 * second, and less often when there are many: all keys together start at most 50 requests a second.
 * Some keys have priority: while keys of both ranks wait, 40 of the 50 requests are for keys with
 * priority, so that n of them are polled every n/40 s however many others there are (and every
 * second up to 40 of them). Connections are not kept. Used by one thread. */
#pragma once

#include "lib/error.h"

enum {
    POLLER_PER_SECOND = 50,
    POLLER_FIRST = 40,          /* of these, for keys with priority while others wait, too */
    POLLER_EVERY_MS = 1000,     /* from one request to the next, at least */
    POLLER_RETRY_MS = 100,      /* after a failure, doubling up to the interval */
    POLLER_TIMEOUT_MS = 3000,   /* for one answer */
    POLLER_MAX_BYTES = 64 << 10 /* of its body, at most */
};

struct poller;

/* Called from poller_step for a key whose answer differs from the one before. */
typedef void poller_listener(void *context, const char *key);

NODISCARD int poller_open(poller_listener *listener, void *context, struct poller **ret_poller,
                          struct error *err);
void poller_free(struct poller *poller);

/* Starts to poll, or continues, and returns the body of the last answer with status 200, borrowed
 * until the next call of any function; NULL when there is none or the last request failed. The
 * server must show exactly that certificate. The first request starts as soon as the rate allows; a
 * different url or certificate for a key starts over. The priority may change from one call to the
 * next. */
const char *poller_ask(struct poller *poller, const char *key, const char *url,
                       const char *certificate_pem, bool is_first);
/* Stops polling. */
void poller_forget(struct poller *poller, const char *key);
size_t poller_count(const struct poller *poller); /* keys */
/* The time from one request to the next of a key of that rank, with the current number of keys: at
 * least POLLER_EVERY_MS. */
int64_t poller_interval_ms(const struct poller *poller, bool is_first);

/* Reads the answers that have arrived and starts the requests that are due; never waits. */
NODISCARD int poller_step(struct poller *poller, struct error *err);
/* The latest time for the next step (clock_monotonic_ms); INT64_MAX: not before poller_fd is
 * readable. */
int64_t poller_next_ms(struct poller *poller);
/* A descriptor for poll; it is readable when there is something to read. */
int poller_fd(const struct poller *poller);
