// SPDX-License-Identifier: Apache-2.0
/* What a pool of requests does with each answer: result, pause, retry, end. */
#include "agent/score/endpoint/complaint.h"
#include "agent/score/endpoint/pool_state.h"
#include "lib/log.h"
#include "lib/time/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUSY_MAX = 200, /* how often one request may meet a busy server before that is a try */
};

static void drop_body(struct pool *pool, struct pool_ask *ask) {
    buffer_release(&ask->own.body);
    answer_memory_give_back(&pool->memory, &ask->held);
}

void pool_finish(struct pool *pool, struct pool_ask *ask, enum pool_end end) {
    if (end != POOL_ANSWERED) {
        drop_body(pool, ask);
    }
    ask->end = end;
    sem_post(&ask->own.done);
}

void pool_warn(struct pool *pool, const char *url, const char *what) {
    int64_t now_ms = clock_monotonic_ms();
    if (now_ms - pool->told_ms >= POOL_TOLD_MS) {
        pool->told_ms = now_ms;
        log_event(LOG_WARNING, "%s: %s", url, what);
    }
}

void pool_end_all(struct pool *pool, enum error_kind kind, const char *why) {
    pthread_mutex_lock(&pool->lock);
    error_set(&pool->ended, kind, "%s", why);
    pthread_mutex_unlock(&pool->lock);
}

void pool_note_there(struct pool *pool) {
    pthread_mutex_lock(&pool->lock);
    pool->is_there = true;
    pthread_mutex_unlock(&pool->lock);
}

void pool_put_off(struct pool *pool, struct pool_ask *ask, int64_t wait_ms) {
    ask->own.due_ms = clock_monotonic_ms() + wait_ms;
    ask_list_insert(&pool->later, ask);
}

/* Asks again later, if tries are left. */
static void try_again(struct pool *pool, struct pool_ask *ask, bool is_try) {
    ask->tries += is_try;
    if (ask->tries >= pool->setting->tries) {
        pool_finish(pool, ask, POOL_REFUSED);
        return;
    }
    uint32_t random = backends_random(&pool->servers);
    request_metrics_add(&pool->metrics, REQUESTS_RETRIES, 1);
    pool_put_off(pool, ask, reaction_wait_ms(ask->tries + ask->own.refusals, random));
}

static void on_busy(struct pool *pool, struct pool_ask *ask, const struct http_answer *answer) {
    backends_busy(&pool->servers, ask->own.server, (int64_t)answer->retry_after_s * 1000,
                  clock_monotonic_ms());
    request_metrics_add(&pool->metrics, REQUESTS_BUSY, 1);
    snprintf(pool->reason, sizeof pool->reason, "%.200s", ask->cause);
    try_again(pool, ask, ++ask->own.refusals > BUSY_MAX);
}

static void on_denied(struct pool *pool, struct pool_ask *ask, const char *url) {
    char why[512];
    request_metrics_add(&pool->metrics, REQUESTS_REFUSED, 1);
    if (backends_deny(&pool->servers, ask->status, &ask->own.was_forbidden)) {
        snprintf(why, sizeof why,
                 "%.200s: %.200s: the server wants another key: see spec.scorer.endpoint.key", url,
                 ask->cause);
        backends_refused(&pool->servers, ask->own.server);
        pool_end_all(pool, ERROR_DENIED, why);
        pool_finish(pool, ask, POOL_AWAY);
        return;
    }
    if (ask->status == 403) {
        backends_refused(&pool->servers, ask->own.server);
    } else {
        backends_denied(&pool->servers, ask->own.server, clock_monotonic_ms());
    }
    pool_warn(pool, url, ask->cause);
    try_again(pool, ask, /* is_try= */ true);
}

/* Another server may know the path and the model. */
static void on_unknown(struct pool *pool, struct pool_ask *ask, const struct http_answer *answer) {
    ask->own.without |= UINT32_C(1) << ask->own.server;
    backends_refused(&pool->servers, ask->own.server);
    request_metrics_add(&pool->metrics, REQUESTS_REFUSED, 1);
    if (ask->own.without + 1 < UINT32_C(1) << pool->servers.count) {
        request_metrics_add(&pool->metrics, REQUESTS_RETRIES, 1);
        pool_put_off(pool, ask, 0);
        return;
    }
    backends_learn_unknown(&pool->servers, ask->key, ask->cause,
                           complaint_is_of_model(answer->body, answer->size));
    pool_finish(pool, ask, POOL_REFUSED);
}

static void take_answer(struct pool *pool, struct pool_ask *ask, const struct http_answer *answer) {
    int64_t now_ms = clock_monotonic_ms(), took_ms = now_ms - ask->own.sent_ms;
    const char *url = pool->servers.of[ask->own.server].url;
    ask->status = answer->status;
    if (reaction_to(answer->status) != REACTION_ANSWER) {
        complaint_read(answer->status, answer->body, answer->size, pool->setting->secret,
                       ask->cause);
    }
    switch (reaction_to(answer->status)) {
    case REACTION_ANSWER:
        backends_answered(&pool->servers, ask->own.server, ask->key, took_ms, now_ms);
        request_metrics_add(&pool->metrics, REQUESTS_ANSWERS, 1);
        request_metrics_latency(&pool->metrics, took_ms);
        ask->answer = buffer_take(&ask->own.body, &ask->answer_size);
        pool_finish(pool, ask, POOL_ANSWERED);
        return;
    case REACTION_BUSY:
        on_busy(pool, ask, answer);
        return;
    case REACTION_DENIED:
        on_denied(pool, ask, url);
        return;
    case REACTION_UNKNOWN:
        on_unknown(pool, ask, answer);
        return;
    case REACTION_BROKEN:
        backends_erred(&pool->servers, ask->own.server, /* has_answered= */ true, now_ms);
        request_metrics_add(&pool->metrics, REQUESTS_BROKEN, 1);
        pool_warn(pool, url, ask->cause);
        try_again(pool, ask, /* is_try= */ true);
        return;
    case REACTION_REFUSED:
    default:
        if (complaint_is_of_model(answer->body, answer->size)) {
            on_unknown(pool, ask, answer);
            return;
        }
        break;
    }
    backends_refused(&pool->servers, ask->own.server);
    request_metrics_add(&pool->metrics, REQUESTS_REFUSED, 1);
    pool_finish(pool, ask, POOL_REFUSED);
}

/* Only the answers' share of this worker's memory is full: not a try, and fewer are in flight. */
static void on_full(struct pool *pool, struct pool_ask *ask, const char *url) {
    ask->own.was_full = false;
    backends_busy(&pool->servers, ask->own.server, 0, clock_monotonic_ms());
    request_metrics_add(&pool->metrics, REQUESTS_BUSY, 1);
    pool_warn(pool, url, ask->cause);
    try_again(pool, ask, ++ask->own.refusals > BUSY_MAX);
}

/* No answer, or not a whole one. A server that was not reached has cost the request nothing. */
static void take_error(struct pool *pool, struct pool_ask *ask, bool is_sent,
                       const struct error *err) {
    int64_t now_ms = clock_monotonic_ms();
    const char *url = pool->servers.of[ask->own.server].url;
    ask->status = 0;
    snprintf(ask->cause, sizeof ask->cause, "%.250s", err->text);
    snprintf(pool->reason, sizeof pool->reason, "%.250s", err->text);
    drop_body(pool, ask);
    if (ask->own.was_full) {
        on_full(pool, ask, url);
        return;
    }
    if (err->kind == ERROR_EXHAUSTED || err->kind == ERROR_INVALID ||
        err->kind == ERROR_UNSUPPORTED) {
        backends_refused(&pool->servers, ask->own.server);
        request_metrics_add(&pool->metrics, REQUESTS_REFUSED, 1);
        pool_finish(pool, ask, POOL_REFUSED);
        return;
    }
    if (err->kind == ERROR_DENIED && pool->servers.count == 1) { /* its certificate or address */
        backends_dropped(&pool->servers, ask->own.server);
        pool_end_all(pool, ERROR_DENIED, err->text);
        pool_finish(pool, ask, POOL_AWAY);
        return;
    }
    bool is_slow = err->kind == ERROR_TIMEOUT && is_sent;
    request_metrics_add(&pool->metrics, is_slow ? REQUESTS_TIMEOUTS : REQUESTS_BROKEN, 1);
    if (is_slow) {
        backends_erred(&pool->servers, ask->own.server, /* has_answered= */ false, now_ms);
    } else {
        backends_broke(&pool->servers, ask->own.server, now_ms);
    }
    pool_warn(pool, url, err->text);
    try_again(pool, ask, is_sent || ask->own.without != 0);
}

int pool_received(void *context, const char *data, size_t size, struct error *err) {
    struct pool_ask *ask = context;
    struct pool *pool = ask->own.pool;
    if (!answer_memory_take(&pool->memory, ask->own.body.size + size, &ask->held)) {
        ask->own.was_full = true;
        return error_set(err, ERROR_EXHAUSTED,
                         "the answers that are read take more than %lld MiB of this worker's "
                         "memory together; fewer are asked for at a time",
                         (long long)pool->memory.most >> 20);
    }
    return buffer_append(&ask->own.body, data, size, err);
}

void pool_done(void *context, const struct http_answer *answer, bool is_sent,
               const struct error *err) {
    struct pool_ask *ask = context;
    struct pool *pool = ask->own.pool;
    ask_list_unlink(ask);
    if (!answer) {
        take_error(pool, ask, is_sent, err);
        return;
    }
    if (!pool->is_there) { /* only this thread changes it */
        pool_note_there(pool);
    }
    take_answer(pool, ask, answer);
}
