// SPDX-License-Identifier: Apache-2.0
#include "agent/score/endpoint/in_flight.h"

/* A round of fewer answers, or of a shorter time, says nothing about the rate. */
enum { ROUND_ANSWERS_MIN = 8, ROUND_MS_MIN = 50 };
static const double CUT = 2.0 / 3;
static const double STEP = 1.0 / 16;   /* growth of a round when steady, of the window */
static const double GAIN = 1.0 / 32;   /* a rate that is higher by this share is higher */
static const double SLOWER = 1.25;     /* times the fastest round: requests wait in the server */
static const double LOSS = 1.0 / 16;   /* a rate that is lower by this share is lower */
static const double FORGET = 1.0 / 64; /* of the best rate, each round: servers change */

void in_flight_init(struct in_flight *window, int most, bool is_fixed, int64_t now_ms) {
    *window = (struct in_flight){
        .most = most, .is_fixed = is_fixed, .size = 1, .wanted = 1, .began_ms = now_ms};
}

int in_flight_size(const struct in_flight *window) {
    return (int)window->size;
}

void in_flight_full(struct in_flight *window) {
    window->was_full = true;
}

static void begin_round(struct in_flight *window, int64_t now_ms) {
    window->began_ms = now_ms;
    window->answers = window->latency_ms = 0;
    window->wanted = MAX((int64_t)window->size, (int64_t)ROUND_ANSWERS_MIN);
    window->was_full = window->was_cut = false;
}

static void set_size(struct in_flight *window, double size) {
    window->size = MAX(MIN(size, (double)window->most), 1.0);
}

/* What is not used says nothing about what could be. */
static void adapt(struct in_flight *window, double rate, double latency_ms) {
    bool is_faster = rate > window->best_rate * (1 + GAIN);
    bool is_lower = rate < window->best_rate * (1 - LOSS);
    bool is_slow = latency_ms > window->fastest_ms * SLOWER;
    window->best_rate = MAX(rate, window->best_rate * (1 - FORGET));
    if (!window->was_full || window->was_cut) {
        return;
    }
    if (!window->is_steady && is_faster) {
        window->size_before = window->size;
        set_size(window, window->size * 2);
    } else if (!window->is_steady) { /* the last doubling gave nothing */
        window->is_steady = true;
        set_size(window, MAX(window->size_before, window->size / 2));
    } else if (is_slow && !is_faster && !is_lower) {
        set_size(window, window->size * (1 - STEP));
    } else {
        set_size(window, window->size + MAX(window->size * STEP, 1.0));
    }
}

static void end_round(struct in_flight *window, int64_t now_ms) {
    double seconds = (double)MAX(now_ms - window->began_ms, (int64_t)1) / 1000;
    double latency_ms = (double)window->latency_ms / (double)window->answers;
    bool is_fastest = window->fastest_ms == 0.0 || latency_ms < window->fastest_ms;
    window->fastest_ms = is_fastest ? MAX(latency_ms, 1.0) : window->fastest_ms;
    adapt(window, (double)window->answers / seconds, latency_ms);
    begin_round(window, now_ms);
}

void in_flight_answer(struct in_flight *window, int64_t latency_ms, int64_t now_ms) {
    if (!window->has_answer) {
        window->has_answer = true;
        set_size(window, window->is_fixed ? window->most : 2);
        begin_round(window, now_ms);
        return;
    }
    window->answers++;
    window->latency_ms += latency_ms;
    bool is_over = window->answers >= window->wanted && now_ms - window->began_ms >= ROUND_MS_MIN;
    if (is_over && !window->is_fixed) {
        end_round(window, now_ms);
    } else if (is_over) { /* what a refusal has taken comes back */
        set_size(window, window->size + MAX(window->size * STEP, 1.0));
        begin_round(window, now_ms);
    }
}

void in_flight_refused(struct in_flight *window, int64_t now_ms) {
    if (!window->was_cut) {
        begin_round(window, now_ms);
        window->was_cut = true;
        window->is_steady = true;
        set_size(window, window->size * CUT);
    }
}
