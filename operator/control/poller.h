/* poller.h: GETs over HTTPS that are asked again and again, one per key, without ever blocking.
 * A key is asked about every second, and less often when there are many: all keys together start at
 * most 50 questions a second. Some come first: while both kinds wait, 40 of the 50 are theirs, so
 * that n of them are asked every n/40 s however many others there are (and every second up to 40).
 * Connections are not kept. Used by one thread. */
#pragma once

#include "lib/error.h"

enum {
    POLLER_PER_SECOND = 50,
    POLLER_FIRST = 40,          /* of these, of those that come first while others wait, too */
    POLLER_EVERY_MS = 1000,     /* from one question to the next, at least */
    POLLER_RETRY_MS = 100,      /* after a failure, doubling up to the interval */
    POLLER_TIMEOUT_MS = 3000,   /* for one answer, */
    POLLER_MAX_BYTES = 64 << 10 /* whose body is at most so large */
};

struct poller;

/* Told of a key whose answer is another one than before; called out of poller_step. */
typedef void poller_listener(void *context, const char *key);

NODISCARD int poller_open(poller_listener *listener, void *context, struct poller **ret_poller,
                          struct error *err);
void poller_free(struct poller *poller);

/* The server must show exactly that certificate. The first question is asked as soon as the rate
 * allows; another url or certificate for a key is a new question. Whether it comes first may change
 * from one call to the next. Returns the body of the last answer with status 200, borrowed until
 * the next call of any kind; NULL when there is none or the last question failed. */
const char *poller_ask(struct poller *poller, const char *key, const char *url,
                       const char *certificate_pem, bool is_first);
/* Nobody wants to know any more. */
void poller_forget(struct poller *poller, const char *key);
size_t poller_count(const struct poller *poller); /* keys */
/* How long after it was asked a key of that rank is asked again, with as many of both as there are
 * now: at least POLLER_EVERY_MS. */
int64_t poller_interval_ms(const struct poller *poller, bool is_first);

/* Takes in what has come and asks what is due; never waits. */
NODISCARD int poller_step(struct poller *poller, struct error *err);
/* When to step again at the latest (clock_monotonic_ms); INT64_MAX: not before poller_fd. */
int64_t poller_next_ms(struct poller *poller);
/* Descriptor for poll that is readable when there is something to take in. */
int poller_fd(const struct poller *poller);
