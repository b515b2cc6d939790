// SPDX-License-Identifier: Apache-2.0
#include "agent/score/endpoint/backends.h"

#include <stdlib.h>
#include <string.h>

enum { BROKEN_MS_MAX = 10000, KNOWN_MAX = 64 };

void backends_init(struct backends *servers, const struct backends_options *options,
                   int64_t now_ms) {
    *servers = (struct backends){.count = MIN(options->count, (int)BACKENDS_MAX),
                                 .random = options->seed | 1};
    for (int i = 0; i < servers->count; i++) {
        servers->of[i].url = options->urls[i];
        in_flight_init(&servers->of[i].window, options->in_flight_max, options->is_fixed, now_ms);
    }
    servers->known = x_calloc(KNOWN_MAX, sizeof *servers->known);
}

void backends_release(struct backends *servers) {
    for (int i = 0; i < servers->unknown_count; i++) {
        free(servers->unknown[i].key);
        free(servers->unknown[i].cause);
    }
    for (int i = 0; i < servers->known_count; i++) {
        free(servers->known[i]);
    }
    free(TAKE(servers->known));
    servers->known_count = servers->unknown_count = 0;
}

/* Xorshift: only spreads pauses. */
uint32_t backends_random(struct backends *servers) {
    uint32_t x = servers->random;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return servers->random = x;
}

/* One that does not answer gets a single request, until it does. */
static int room(const struct backend *server) {
    int size = server->failures > 0 ? 1 : in_flight_size(&server->window);
    return size - server->in_flight;
}

int backends_pick(const struct backends *servers, int last, uint32_t without, int64_t now_ms) {
    int best = -1;
    for (int i = 0; i < servers->count; i++) {
        const struct backend *server = &servers->of[i];
        if (server->until_ms > now_ms || room(server) <= 0 || without >> i & 1) {
            continue;
        }
        bool is_better =
            best < 0 || best == last || (i != last && room(server) > room(&servers->of[best]));
        best = is_better ? i : best;
    }
    return best;
}

int64_t backends_due_ms(const struct backends *servers) {
    int64_t due_ms = INT64_MAX;
    for (int i = 0; i < servers->count; i++) {
        const struct backend *server = &servers->of[i];
        due_ms = room(server) > 0 ? MIN(due_ms, server->until_ms) : due_ms;
    }
    return due_ms;
}

void backends_full(struct backends *servers) {
    for (int i = 0; i < servers->count; i++) {
        in_flight_full(&servers->of[i].window);
    }
}

void backends_began(struct backends *servers, int server) {
    servers->of[server].in_flight++;
}

void backends_dropped(struct backends *servers, int server) {
    servers->of[server].in_flight--;
}

static bool is_known(const struct backends *servers, const char *key) {
    for (int i = 0; i < servers->known_count; i++) {
        if (strcmp(servers->known[i], key) == 0) {
            return true;
        }
    }
    return false;
}

static struct backend_unknown *find_unknown(struct backends *servers, const char *key) {
    for (int i = 0; i < servers->unknown_count; i++) {
        if (strcmp(servers->unknown[i].key, key) == 0) {
            return &servers->unknown[i];
        }
    }
    return NULL;
}

static void forget_unknown(struct backends *servers, const char *key) {
    struct backend_unknown *unknown = find_unknown(servers, key);
    if (unknown) {
        free(unknown->key);
        free(unknown->cause);
        *unknown = servers->unknown[--servers->unknown_count];
    }
}

void backends_answered(struct backends *servers, int server, const char *key, int64_t latency_ms,
                       int64_t now_ms) {
    struct backend *it = &servers->of[server];
    it->in_flight--;
    it->failures = 0;
    it->has_answered = servers->has_answered = true;
    servers->away_ms = 0;
    in_flight_answer(&it->window, latency_ms, now_ms);
    forget_unknown(servers, key);
    if (servers->known_count < KNOWN_MAX && !is_known(servers, key)) {
        servers->known[servers->known_count++] = x_strdup(key);
    }
}

void backends_refused(struct backends *servers, int server) {
    struct backend *it = &servers->of[server];
    it->in_flight--;
    it->failures = 0;
    it->has_answered = true;
    servers->away_ms = 0;
}

void backends_erred(struct backends *servers, int server, bool has_answered, int64_t now_ms) {
    struct backend *it = &servers->of[server];
    it->in_flight--;
    it->failures = 0;
    in_flight_refused(&it->window, now_ms);
    servers->away_ms = has_answered ? 0 : servers->away_ms;
}

void backends_busy(struct backends *servers, int server, int64_t after_ms, int64_t now_ms) {
    struct backend *it = &servers->of[server];
    it->in_flight--;
    it->failures = 0;
    in_flight_refused(&it->window, now_ms);
    after_ms = MIN(after_ms, (int64_t)REACTION_AFTER_MS_MAX);
    servers->away_ms = MAX(servers->away_ms, now_ms + after_ms);
    if (after_ms > 0) {
        it->until_ms = MAX(it->until_ms, now_ms + after_ms);
    }
}

/* Many requests that break together are one failure. */
static void pause_it(struct backends *servers, int server, int64_t now_ms) {
    struct backend *it = &servers->of[server];
    it->in_flight--;
    in_flight_refused(&it->window, now_ms);
    if (it->until_ms <= now_ms) {
        it->failures++;
        int64_t wait_ms = reaction_wait_ms(it->failures, backends_random(servers));
        it->until_ms = now_ms + MIN(wait_ms, (int64_t)BROKEN_MS_MAX);
    }
}

void backends_broke(struct backends *servers, int server, int64_t now_ms) {
    pause_it(servers, server, now_ms);
    servers->failed_ms = now_ms;
    servers->away_ms = servers->away_ms ? servers->away_ms : now_ms;
}

void backends_denied(struct backends *servers, int server, int64_t now_ms) {
    pause_it(servers, server, now_ms);
    servers->away_ms = 0;
}

bool backends_deny(struct backends *servers, int status, bool *was_forbidden) {
    bool is_of_row = status == 403;
    servers->forbidden += is_of_row && !*was_forbidden;
    *was_forbidden |= is_of_row;
    return !servers->has_answered && (!is_of_row || servers->forbidden >= FORBIDDEN_ROWS);
}

int64_t backends_away_ms(const struct backends *servers) {
    return servers->away_ms ? MAX(servers->failed_ms - servers->away_ms, (int64_t)0) : 0;
}

void backends_idle(struct backends *servers) {
    servers->away_ms = 0;
}

const char *backends_unknown(struct backends *servers, const char *key) {
    const struct backend_unknown *unknown = find_unknown(servers, key);
    return unknown && unknown->rows >= UNKNOWN_ROWS ? unknown->cause : NULL;
}

void backends_learn_unknown(struct backends *servers, const char *key, const char *cause,
                            bool names_model) {
    struct backend_unknown *unknown = find_unknown(servers, key);
    int rows = names_model ? UNKNOWN_ROWS : 1;
    if (unknown) {
        unknown->rows += rows;
    } else if (servers->unknown_count < BACKENDS_UNKNOWN_MAX && !is_known(servers, key)) {
        servers->unknown[servers->unknown_count++] =
            (struct backend_unknown){.key = x_strdup(key), .cause = x_strdup(cause), .rows = rows};
    }
}
