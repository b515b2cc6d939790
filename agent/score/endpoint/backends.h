/* backends.h: what is known about the model servers: how many requests each has in flight, how many
 * it may have, until when it wants none, what it does not know. Chooses the one that gets the next
 * request. Pure: time is an argument. */
#pragma once

#include "agent/score/endpoint/in_flight.h"
#include "agent/score/endpoint/reaction.h"

enum { BACKENDS_MAX = 16, BACKENDS_UNKNOWN_MAX = 64 };

struct backend {
    const char *url; /* borrowed */
    struct in_flight window;
    int in_flight;
    int64_t until_ms; /* it gets nothing before */
    int failures;     /* in a row, without an answer: the pauses grow */
    bool has_answered;
};

/* A path and model that no server knows; it is not asked for again. */
struct unknown {
    char *key, *cause;
};

struct backends {
    struct backend of[BACKENDS_MAX];
    int count;
    int64_t answered_ms; /* the last answer of any; at first the start */
    bool has_answered;   /* any of them, ever */
    struct unknown unknown[BACKENDS_UNKNOWN_MAX];
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
 * if another has room. -1: none has room now. */
int backends_pick(const struct backends *servers, int last, int64_t now_ms);
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
/* It is busy for after_ms; 0: it does not say. */
void backends_busy(struct backends *servers, int server, int64_t after_ms, int64_t now_ms);
/* It was not reached, or the connection broke. */
void backends_broke(struct backends *servers, int server, int64_t now_ms);

/* Why this key is not known; NULL: it may be. */
const char *backends_unknown(const struct backends *servers, const char *key);
/* Remembers it, unless it was answered before. */
void backends_learn_unknown(struct backends *servers, const char *key, const char *cause);
uint32_t backends_random(struct backends *servers);
