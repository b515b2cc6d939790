/* backends.h: what is known about the model servers: how many requests each has in flight, how many
 * it may have, until when it wants none, what it does not know. Chooses the one that gets the next
 * request. Pure: time is an argument. */
#pragma once

#include "agent/score/endpoint/in_flight.h"
#include "agent/score/endpoint/reaction.h"

enum { BACKENDS_MAX = 16, BACKENDS_UNKNOWN_MAX = 64, UNKNOWN_ROWS = 2, FORBIDDEN_ROWS = 3 };

struct backend {
    const char *url; /* borrowed */
    struct in_flight window;
    int in_flight;
    int64_t until_ms; /* it gets nothing before */
    int failures;     /* in a row, without an answer: the pauses grow */
    bool has_answered;
};

/* A path and model that no server knew for this many rows; from UNKNOWN_ROWS on it is not asked for
 * again: one row may have asked for something of its own. */
struct backend_unknown {
    char *key, *cause;
    int rows;
};

struct backends {
    struct backend of[BACKENDS_MAX];
    int count;
    int64_t away_ms;   /* since when no server has answered at all; 0: one has */
    int64_t failed_ms; /* the last failure to reach one */
    bool has_answered; /* any of them, well, ever */
    int forbidden;     /* rows that were answered 403 */
    struct backend_unknown unknown[BACKENDS_UNKNOWN_MAX];
    int unknown_count;
    char **known; /* keys that were answered, sorted by arrival; owned */
    int known_count;
    uint32_t random;
};

struct backends_options {
    const char *const *urls;  /* 1 to BACKENDS_MAX */
    int count, in_flight_max; /* of each */
    bool is_fixed;
    uint32_t seed;
};

void backends_init(struct backends *servers, const struct backends_options *options,
                   int64_t now_ms);
void backends_release(struct backends *servers);

/* The server for the next request; last: where it was tried before (-1: nowhere), which is avoided
 * if another has room; without: the bits of those that cannot get it. -1: none has room now. */
int backends_pick(const struct backends *servers, int last, uint32_t without, int64_t now_ms);
/* When one that has room may be asked again; INT64_MAX: that depends on answers. */
int64_t backends_due_ms(const struct backends *servers);
void backends_full(struct backends *servers); /* requests wait for room */

/* A request was sent, or has ended without one of the following. */
void backends_began(struct backends *servers, int server);
void backends_dropped(struct backends *servers, int server);
/* It was answered; key: its path and model. */
void backends_answered(struct backends *servers, int server, const char *key, int64_t latency_ms,
                       int64_t now_ms);
/* Answered, but refused: the server itself is well. */
void backends_refused(struct backends *servers, int server);
/* Answered, but not with this key: it pauses, as if it broke. */
void backends_denied(struct backends *servers, int server, int64_t now_ms);
/* It has too much to do, or a fault of its own: an answer such as 500, or none in time. */
void backends_erred(struct backends *servers, int server, bool has_answered, int64_t now_ms);
/* It is busy for after_ms, of which at most REACTION_AFTER_MS_MAX count; 0: it does not say. */
void backends_busy(struct backends *servers, int server, int64_t after_ms, int64_t now_ms);
/* It was not reached, or the connection broke. */
void backends_broke(struct backends *servers, int server, int64_t now_ms);

/* For how long no server has been reached, at the last failure; 0: one has answered since. Time in
 * which nothing was asked counts only between two failures. */
int64_t backends_away_ms(const struct backends *servers);
void backends_idle(struct backends *servers); /* nothing waits for an answer */

/* An answer of 401, 403 or 407. True: no request will get in with this API key. One that was good
 * may be renewed at this moment; one that never was will not become good. 403 may be about the row:
 * FORBIDDEN_ROWS rows must have it. was_forbidden: the row's. */
bool backends_deny(struct backends *servers, int status, bool *was_forbidden);

/* Why this key is not known; NULL: it may be. */
const char *backends_unknown(struct backends *servers, const char *key);
/* Another row got that from all servers. Remembers it, unless the key was answered before.
 * names_model: the server said that it is the model; then one row is enough. */
void backends_learn_unknown(struct backends *servers, const char *key, const char *cause,
                            bool names_model);
uint32_t backends_random(struct backends *servers);
