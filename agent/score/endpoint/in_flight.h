/* in_flight.h: how many requests may be in flight at one server: grows while the server gives more
 * answers a second for it, shrinks when it refuses (additive increase, multiplicative decrease).
 * Pure: time is an argument.
 *
 * It begins with one request, so that a wrong key or model is asked for once. After the first
 * answer it doubles each round (as many answers as are in flight) until the rate stops growing;
 * then it shrinks by a sixteenth of itself in each round while answers are slower than in the
 * fastest rounds without being more in a second, and grows as much otherwise. A refusal takes a
 * third off, once in a round. A fixed window is `most` from the first answer on. */
#pragma once

#include "lib/base.h"

struct in_flight {
    int most; /* 1 or more */
    bool is_fixed;
    double size; /* may be used: (int)size */
    bool has_answer, is_steady;
    /* the current round */
    int64_t began_ms, answers, latency_ms;
    int64_t wanted; /* answers that end it */
    bool was_full;  /* all of the window was used */
    bool was_cut;
    double size_before; /* of the round before */
    double best_rate;   /* answers a second, slowly forgotten */
    double fastest_ms;  /* mean latency of the fastest round */
};

void in_flight_init(struct in_flight *window, int most, bool is_fixed, int64_t now_ms);
/* How many may be in flight now. */
int in_flight_size(const struct in_flight *window);
/* Every request that could be sent is waiting for room. */
void in_flight_full(struct in_flight *window);
void in_flight_answer(struct in_flight *window, int64_t latency_ms, int64_t now_ms);
void in_flight_refused(struct in_flight *window, int64_t now_ms);
