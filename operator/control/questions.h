/* questions.h: GETs over HTTPS that are asked again and again, one per key, without ever blocking.
 * A key is asked about every second, and less often when there are many: all keys together start at
 * most 50 questions a second. Some come first: while both kinds wait, 40 of the 50 are theirs, so
 * that n of them are asked every n/40 s however many others there are (and every second up to 40).
 * Connections are not kept. Used by one thread. */
#pragma once

#include "lib/error.h"

enum {
    QUESTIONS_PER_SECOND = 50,
    QUESTIONS_FIRST = 40,          /* of these, of those that come first while others wait, too */
    QUESTIONS_EVERY_MS = 1000,     /* from one question to the next, at least */
    QUESTIONS_RETRY_MS = 100,      /* after a failure, doubling up to the interval */
    QUESTIONS_TIMEOUT_MS = 3000,   /* for one answer, */
    QUESTIONS_MAX_BYTES = 64 << 10 /* whose body is at most so large */
};

struct questions;

/* Told of a key whose answer is another one than before; called out of questions_step. */
typedef void questions_listener(void *context, const char *key);

NODISCARD int questions_open(questions_listener *listener, void *context,
                             struct questions **ret_questions, struct error *err);
void questions_free(struct questions *questions);

/* The server must show exactly that certificate. The first question is asked as soon as the rate
 * allows; another url or certificate for a key is a new question. Whether it comes first may change
 * from one call to the next. Returns the body of the last answer with status 200, borrowed until
 * the next call of any kind; NULL when there is none or the last question failed. */
const char *questions_ask(struct questions *questions, const char *key, const char *url,
                          const char *certificate_pem, bool is_first);
/* Nobody wants to know any more. */
void questions_forget(struct questions *questions, const char *key);
size_t questions_count(const struct questions *questions); /* keys */
/* How long after it was asked a key of that rank is asked again, with as many of both as there are
 * now: at least QUESTIONS_EVERY_MS. */
int64_t questions_interval_ms(const struct questions *questions, bool is_first);

/* Takes in what has come and asks what is due; never waits. */
NODISCARD int questions_step(struct questions *questions, struct error *err);
/* When to step again at the latest (clock_monotonic_ms); INT64_MAX: not before questions_fd. */
int64_t questions_next_ms(struct questions *questions);
/* Descriptor for poll that is readable when there is something to take in. */
int questions_fd(const struct questions *questions);
