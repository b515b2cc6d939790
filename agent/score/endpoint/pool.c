// SPDX-License-Identifier: Apache-2.0
#include "agent/score/endpoint/pool.h"

#include "agent/score/endpoint/ask_list.h"
#include "agent/score/endpoint/budget.h"
#include "agent/score/endpoint/complaint.h"
#include "agent/score/endpoint/request.h"
#include "lib/log.h"
#include "lib/net/http.h"
#include "lib/secret.h"
#include "lib/time/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    ANSWER_BYTES_MAX = 32 << 20,
    CONNECT_MS_MAX = 10000,
    LOOK_MS = 200,   /* how often those that no caller wants any more are looked for */
    BUSY_MAX = 200,  /* how often one request may meet a busy server before that is a try */
    PROBE_MS = 500,  /* between two looks whether a server is there */
    TOLD_MS = 10000, /* of lines of the log about servers, at most one so often */
};

struct pool {
    const struct endpoint_setting *setting;
    pthread_t thread;
    int wake_fd;
    char *key_header; /* with the key; NULL: none, or it is a bearer's */
    struct request_metrics metrics;

    pthread_mutex_t lock; /* guards the following */
    pthread_cond_t there; /* is_there, or ended */
    struct ask_list inbox;
    bool ends, is_there; /* is_there: a server has answered anything */
    struct error ended;

    /* of the thread */
    struct http *http;
    struct backends servers;
    struct budget requests, tokens;
    struct ask_list queue;   /* to be sent, in order */
    struct pool_ask *later;  /* to be sent at due_ms; in that order */
    struct pool_ask *flying; /* in no order */
    int64_t look_ms, told_ms, probe_ms, began_ms;
    bool is_probing;
    int probed;       /* the server that was looked for last */
    char reason[256]; /* why the last request got no answer */
};

/* ---- the end of a request ------------------------------------------------------------------- */

static void finish(struct pool *pool, struct pool_ask *ask, enum pool_end end) {
    pthread_mutex_lock(&pool->lock);
    ask->end = end;
    ask->own.is_done = true;
    pthread_cond_signal(&ask->own.done);
    pthread_mutex_unlock(&pool->lock);
}

static void warn(struct pool *pool, const char *url, const char *what) {
    int64_t now_ms = clock_monotonic_ms();
    if (now_ms - pool->told_ms >= TOLD_MS) {
        pool->told_ms = now_ms;
        log_event(LOG_WARNING, "%s: %s", url, what);
    }
}

static void end_all(struct pool *pool, enum error_kind kind, const char *why) {
    pthread_mutex_lock(&pool->lock);
    error_set(&pool->ended, kind, "%s", why);
    pthread_cond_broadcast(&pool->there);
    pthread_mutex_unlock(&pool->lock);
}

static void note_there(struct pool *pool) {
    pthread_mutex_lock(&pool->lock);
    pool->is_there = true;
    pthread_cond_broadcast(&pool->there);
    pthread_mutex_unlock(&pool->lock);
}

static void put_off(struct pool *pool, struct pool_ask *ask, int64_t wait_ms) {
    ask->own.due_ms = clock_monotonic_ms() + wait_ms;
    ask_list_insert(&pool->later, ask);
}

/* Asks again later, if tries are left. */
static void try_again(struct pool *pool, struct pool_ask *ask, bool is_try) {
    ask->tries += is_try;
    if (ask->tries >= pool->setting->tries) {
        finish(pool, ask, POOL_REFUSED);
        return;
    }
    uint32_t random = backends_random(&pool->servers);
    request_metrics_add(&pool->metrics, REQUESTS_RETRIES, 1);
    put_off(pool, ask, reaction_wait_ms(ask->tries + ask->own.refusals, random));
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
        end_all(pool, ERROR_DENIED, why);
        finish(pool, ask, POOL_AWAY);
        return;
    }
    if (ask->status == 403) {
        backends_refused(&pool->servers, ask->own.server);
    } else {
        backends_denied(&pool->servers, ask->own.server, clock_monotonic_ms());
    }
    warn(pool, url, ask->cause);
    try_again(pool, ask, /* is_try= */ true);
}

/* Another server may know the path and the model. */
static void on_unknown(struct pool *pool, struct pool_ask *ask) {
    ask->own.without |= UINT32_C(1) << ask->own.server;
    backends_refused(&pool->servers, ask->own.server);
    request_metrics_add(&pool->metrics, REQUESTS_REFUSED, 1);
    if (ask->own.without + 1 < UINT32_C(1) << pool->servers.count) {
        request_metrics_add(&pool->metrics, REQUESTS_RETRIES, 1);
        put_off(pool, ask, 0);
        return;
    }
    backends_learn_unknown(&pool->servers, ask->key, ask->cause);
    finish(pool, ask, POOL_REFUSED);
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
        ask->answer = x_strndup(answer->body, answer->size);
        ask->answer_size = answer->size;
        finish(pool, ask, POOL_ANSWERED);
        return;
    case REACTION_BUSY:
        on_busy(pool, ask, answer);
        return;
    case REACTION_DENIED:
        on_denied(pool, ask, url);
        return;
    case REACTION_UNKNOWN:
        on_unknown(pool, ask);
        return;
    case REACTION_BROKEN:
        backends_erred(&pool->servers, ask->own.server, /* has_answered= */ true, now_ms);
        request_metrics_add(&pool->metrics, REQUESTS_BROKEN, 1);
        warn(pool, url, ask->cause);
        try_again(pool, ask, /* is_try= */ true);
        return;
    case REACTION_REFUSED:
    default:
        if (complaint_is_of_model(answer->body, answer->size)) {
            on_unknown(pool, ask);
            return;
        }
        break;
    }
    backends_refused(&pool->servers, ask->own.server);
    request_metrics_add(&pool->metrics, REQUESTS_REFUSED, 1);
    finish(pool, ask, POOL_REFUSED);
}

/* No answer, or not a whole one. A server that was not reached has cost the request nothing. */
static void take_error(struct pool *pool, struct pool_ask *ask, bool is_sent,
                       const struct error *err) {
    int64_t now_ms = clock_monotonic_ms();
    const char *url = pool->servers.of[ask->own.server].url;
    ask->status = 0;
    snprintf(ask->cause, sizeof ask->cause, "%.250s", err->text);
    snprintf(pool->reason, sizeof pool->reason, "%.250s", err->text);
    if (err->kind == ERROR_EXHAUSTED || err->kind == ERROR_INVALID) {
        backends_refused(&pool->servers, ask->own.server);
        request_metrics_add(&pool->metrics, REQUESTS_REFUSED, 1);
        finish(pool, ask, POOL_REFUSED);
        return;
    }
    if (err->kind == ERROR_DENIED && pool->servers.count == 1) { /* its certificate or address */
        backends_dropped(&pool->servers, ask->own.server);
        end_all(pool, ERROR_DENIED, err->text);
        finish(pool, ask, POOL_AWAY);
        return;
    }
    bool is_slow = err->kind == ERROR_TIMEOUT && is_sent;
    request_metrics_add(&pool->metrics, is_slow ? REQUESTS_TIMEOUTS : REQUESTS_BROKEN, 1);
    if (is_slow) {
        backends_erred(&pool->servers, ask->own.server, /* has_answered= */ false, now_ms);
    } else {
        backends_broke(&pool->servers, ask->own.server, now_ms);
    }
    warn(pool, url, err->text);
    try_again(pool, ask, is_sent || ask->own.without != 0);
}

static void on_done(void *context, const struct http_answer *answer, bool is_sent,
                    const struct error *err) {
    struct pool_ask *ask = context;
    struct pool *pool = ask->own.pool;
    ask_list_unlink(ask);
    if (!answer) {
        take_error(pool, ask, is_sent, err);
        return;
    }
    note_there(pool);
    take_answer(pool, ask, answer);
}

/* ---- sending -------------------------------------------------------------------------------- */

static void send_to(struct pool *pool, struct pool_ask *ask, int server) {
    const struct endpoint_setting *setting = pool->setting;
    const char *const headers[] = {"Content-Type: application/json", "Accept: application/json",
                                   pool->key_header, NULL};
    const char *base = pool->servers.of[server].url;
    AUTO(text_freep) char *url = x_printf("%s%s", base, endpoint_path_at(base, ask->path));
    struct error err = {0};
    struct http_request request = {
        .url = url,
        .method = ask->method,
        .headers = headers,
        .bearer_token = setting->header ? NULL : setting->secret,
        .body = ask->body,
        .body_size = ask->body_size,
        .borrows_body = true,
        .is_http1 = text_starts(url, "http://"),
        .refuses_link_local = true,
        .connect_ms = (int)MIN(setting->timeout_ms, (int64_t)CONNECT_MS_MAX),
        .timeout_ms = (int)setting->timeout_ms,
        .bytes_max = ANSWER_BYTES_MAX,
        .done = on_done,
        .context = ask,
    };
    ask->own.server = server;
    ask->own.sent_ms = clock_monotonic_ms();
    if (http_start(pool->http, &request, &ask->own.call, &err) < 0) {
        snprintf(ask->cause, sizeof ask->cause, "%.250s", err.text);
        finish(pool, ask, POOL_REFUSED);
        return;
    }
    backends_began(&pool->servers, server);
    budget_take(&pool->requests, 1);
    budget_take(&pool->tokens, ask->tokens);
    request_metrics_add(&pool->metrics, REQUESTS_SENT, 1);
    ask_list_link(&pool->flying, ask);
}

static bool is_unwanted(const struct pool_ask *ask) {
    return atomic_load(ask->dropped) || atomic_load(ask->ends);
}

/* Whether it needs no server: no caller wants it, or none will know it. */
static bool is_settled(struct pool *pool, struct pool_ask *ask) {
    const char *unknown = backends_unknown(&pool->servers, ask->key);
    if (is_unwanted(ask) || unknown) {
        snprintf(ask->cause, sizeof ask->cause, "%s", unknown ? unknown : "");
        finish(pool, ask, unknown ? POOL_REFUSED : POOL_DROPPED);
        return true;
    }
    return false;
}

/* Sends what may be sent now. Returns how long nothing more can be, in ms, if nothing happens. */
static int64_t send_all(struct pool *pool, int64_t now_ms) {
    while (pool->later && pool->later->own.due_ms <= now_ms) {
        struct pool_ask *ask = pool->later;
        pool->later = ask->own.next;
        ask_list_append(&pool->queue, ask);
    }
    int64_t wait_ms = pool->later ? pool->later->own.due_ms - now_ms : INT32_MAX;
    while (pool->queue.first) {
        struct pool_ask *ask = pool->queue.first;
        int64_t over_ms = MAX(budget_wait_ms(&pool->requests, 1, now_ms),
                              budget_wait_ms(&pool->tokens, ask->tokens, now_ms));
        int server = over_ms > 0
                         ? -1
                         : backends_pick(&pool->servers, ask->own.server, ask->own.without, now_ms);
        if (server < 0 && over_ms == 0 && ask->own.without) { /* others may get one */
            put_off(pool, ask_list_take(&pool->queue), REACTION_WAIT_MS_MIN);
            wait_ms = MIN(wait_ms, (int64_t)REACTION_WAIT_MS_MIN);
            continue;
        }
        if (server < 0) {
            int64_t due_ms = backends_due_ms(&pool->servers);
            if (over_ms == 0 && due_ms == INT64_MAX) {
                backends_full(&pool->servers);
            }
            int64_t until_ms = over_ms > 0 ? over_ms : MAX(due_ms - now_ms, (int64_t)1);
            return MIN(wait_ms, until_ms);
        }
        (void)ask_list_take(&pool->queue);
        if (!is_settled(pool, ask)) {
            send_to(pool, ask, server);
        }
    }
    return wait_ms;
}

/* ---- those without a caller, or without an answer ------------------------------------------- */

static void drop_from(struct pool *pool, struct pool_ask **at, bool drops_all, enum pool_end end) {
    while (*at) {
        struct pool_ask *ask = *at;
        if (drops_all || is_unwanted(ask)) {
            *at = ask->own.next;
            finish(pool, ask, drops_all ? end : POOL_DROPPED);
        } else {
            at = &ask->own.next;
        }
    }
}

static void drop_waiting(struct pool *pool, bool drops_all, enum pool_end end) {
    drop_from(pool, &pool->later, drops_all, end);
    drop_from(pool, &pool->queue.first, drops_all, end);
    ask_list_mend(&pool->queue);
}

static void drop_flying(struct pool *pool) {
    struct pool_ask *next;
    for (struct pool_ask *ask = pool->flying; ask; ask = next) {
        next = ask->own.next;
        if (is_unwanted(ask)) {
            http_cancel(pool->http, ask->own.call);
            ask_list_unlink(ask);
            backends_dropped(&pool->servers, ask->own.server);
            finish(pool, ask, POOL_DROPPED);
        }
    }
}

/* Requests wait, and for ready_ms no server was reached. */
static void check_away(struct pool *pool) {
    const struct endpoint_setting *setting = pool->setting;
    bool waits = pool->later || pool->queue.first;
    if (!waits && !pool->flying) {
        backends_idle(&pool->servers);
    } else if (waits && !pool->flying && backends_away_ms(&pool->servers) > setting->ready_ms) {
        char why[512];
        snprintf(why, sizeof why, "%.150s: no request was answered for %lld s: %.200s",
                 setting->urls[0], (long long)setting->ready_ms / 1000, pool->reason);
        end_all(pool, ERROR_UNAVAILABLE, why);
    }
}

static void run_checks(struct pool *pool, int64_t now_ms) {
    if (now_ms - pool->look_ms < LOOK_MS) {
        return;
    }
    struct error err = {0};
    pool->look_ms = now_ms;
    if (!pool->ended.kind &&
        own_server_look(pool->setting->server, pool->metrics.counts[REQUESTS_ANSWERS], &err) < 0) {
        end_all(pool, err.kind, err.text);
    }
    drop_flying(pool);
    drop_waiting(pool, /* drops_all= */ false, POOL_DROPPED);
    check_away(pool);
}

/* ---- is a server there? --------------------------------------------------------------------- */

static void on_probed(void *context, const struct http_answer *answer, bool is_sent UNUSED,
                      const struct error *err) {
    struct pool *pool = context;
    bool is_final = !answer && (err->kind == ERROR_DENIED || err->kind == ERROR_INVALID) &&
                    pool->servers.count == 1;
    pool->is_probing = false;
    if (answer && (!pool->setting->ready_path || answer->status / 100 == 2)) {
        note_there(pool);
    } else if (answer) {
        snprintf(pool->reason, sizeof pool->reason, "GET %.100s: %d", pool->setting->ready_path,
                 answer->status);
    } else if (is_final) {
        end_all(pool, ERROR_INVALID, err->text);
    } else {
        snprintf(pool->reason, sizeof pool->reason, "%.250s", err->text);
        warn(pool, pool->servers.of[pool->probed].url, err->text);
    }
}

static void start_probe(struct pool *pool, int64_t now_ms) {
    pool->probed = (pool->probed + 1) % pool->servers.count;
    AUTO(text_freep)
    char *url =
        x_printf("%s%s", pool->servers.of[pool->probed].url, pool->setting->ready_path ?: "/");
    struct error err = {0};
    struct http_request request = {.url = url,
                                   .reuse = HTTP_ONCE,
                                   .refuses_link_local = true,
                                   .connect_ms = CONNECT_MS_MAX,
                                   .timeout_ms = CONNECT_MS_MAX,
                                   .bytes_max = ANSWER_BYTES_MAX,
                                   .done = on_probed,
                                   .context = pool};
    pool->probe_ms = now_ms + PROBE_MS;
    pool->is_probing = true;
    if (http_start(pool->http, &request, NULL, &err) < 0) {
        on_probed(pool, NULL, false, &err);
    }
}

/* Until a server has answered anything, no matter what: one after the other. */
static int64_t probe(struct pool *pool, int64_t now_ms) {
    if (pool->is_there || pool->ended.kind) {
        return INT32_MAX;
    }
    if (now_ms - pool->began_ms > pool->setting->ready_ms) {
        char why[512];
        snprintf(why, sizeof why, "%.150s has not answered for %lld s: %.200s",
                 pool->setting->urls[0], (long long)pool->setting->ready_ms / 1000, pool->reason);
        end_all(pool, ERROR_UNAVAILABLE, why);
    } else if (!pool->is_probing && now_ms >= pool->probe_ms) {
        start_probe(pool, now_ms);
    }
    return PROBE_MS / 4;
}

/* ---- the thread ----------------------------------------------------------------------------- */

static bool take_inbox(struct pool *pool) {
    uint64_t woken;
    (void)!read(pool->wake_fd, &woken, sizeof woken);
    pthread_mutex_lock(&pool->lock);
    ask_list_move(&pool->inbox, &pool->queue);
    bool ends = pool->ends;
    pthread_mutex_unlock(&pool->lock);
    return !ends;
}

static void *run(void *context) {
    struct pool *pool = context;
    struct error err = {0};
    while (take_inbox(pool) && err.kind == ERROR_NONE) {
        int64_t now_ms = clock_monotonic_ms();
        run_checks(pool, now_ms);
        if (pool->ended.kind) {
            drop_waiting(pool, /* drops_all= */ true, POOL_AWAY);
        }
        int64_t wait_ms = MIN(send_all(pool, now_ms), probe(pool, now_ms));
        bool is_busy = pool->flying || pool->later || pool->queue.first || !pool->is_there;
        wait_ms = is_busy ? MIN(wait_ms, (int64_t)LOOK_MS) : -1;
        struct pollfd fds[] = {{.fd = http_fd(pool->http), .events = POLLIN},
                               {.fd = pool->wake_fd, .events = POLLIN}};
        if (poll(fds, 2, (int)wait_ms) > 0 && fds[0].revents) {
            (void)!http_wait(pool->http, 0, &err);
        }
    }
    if (err.kind) {
        end_all(pool, ERROR_UNAVAILABLE, err.text);
        while (take_inbox(pool)) {
            drop_waiting(pool, /* drops_all= */ true, POOL_AWAY);
            poll(NULL, 0, LOOK_MS);
        }
    }
    return NULL;
}

/* ---- for the slots -------------------------------------------------------------------------- */

static void wake(struct pool *pool) {
    (void)eventfd_write(pool->wake_fd, 1);
}

void pool_send(struct pool *pool, struct pool_ask *ask) {
    ask->own = (struct pool_own){.pool = pool, .server = -1};
    pthread_cond_init(&ask->own.done, NULL);
    pthread_mutex_lock(&pool->lock);
    bool was_empty = !pool->inbox.first;
    ask_list_append(&pool->inbox, ask);
    if (was_empty) {
        wake(pool);
    }
    while (!ask->own.is_done) {
        pthread_cond_wait(&ask->own.done, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    pthread_cond_destroy(&ask->own.done);
}

int pool_await(struct pool *pool, const atomic_bool *ends, struct error *err) {
    enum { STEP_MS = 50 };
    for (;;) {
        pthread_mutex_lock(&pool->lock);
        bool is_there = pool->is_there;
        struct error ended = pool->ended;
        pthread_mutex_unlock(&pool->lock);
        if (ended.kind) {
            *err = ended;
            err->kind = ended.kind == ERROR_UNAVAILABLE ? ERROR_UNAVAILABLE : ERROR_INVALID;
            return -1;
        }
        if (is_there) {
            return 0;
        }
        if (atomic_load(ends)) {
            return error_set(err, ERROR_CANCELLED, "cancelled");
        }
        poll(NULL, 0, STEP_MS);
    }
}

bool pool_has_failed(struct pool *pool, struct error *err) {
    pthread_mutex_lock(&pool->lock);
    *err = pool->ended;
    pthread_mutex_unlock(&pool->lock);
    return err->kind != ERROR_NONE;
}

struct request_metrics *pool_metrics(struct pool *pool) {
    return &pool->metrics;
}

static void pool_free(struct pool *pool) {
    http_free(pool->http);
    backends_release(&pool->servers);
    fd_closep(&pool->wake_fd);
    secret_forget(&pool->key_header);
    pthread_cond_destroy(&pool->there);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

void pool_close(struct pool *pool) {
    if (!pool) {
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->ends = true;
    pthread_mutex_unlock(&pool->lock);
    wake(pool);
    pthread_join(pool->thread, NULL);
    AUTO(text_freep) char *told = request_metrics_text(&pool->metrics);
    log_event(LOG_INFO, "%s", told);
    pool_free(pool);
}

int pool_open(const struct endpoint_setting *setting, struct pool **ret_pool, struct error *err) {
    struct pool *pool = x_calloc(1, sizeof *pool);
    int64_t now_ms = clock_monotonic_ms();
    struct backends_options servers = {.urls = (const char *const *)setting->urls,
                                       .count = setting->url_count,
                                       .in_flight_max = setting->in_flight_max,
                                       .is_fixed = setting->is_fixed,
                                       .seed = (uint32_t)(clock_monotonic_ns() ^ getpid())};
    pool->setting = setting;
    pool->key_header = setting->secret && setting->header
                           ? x_printf("%s: %s", setting->header, setting->secret)
                           : NULL;
    pool->began_ms = now_ms;
    pool->probed = -1;
    pool->told_ms = now_ms - TOLD_MS;
    ask_list_mend(&pool->inbox);
    ask_list_mend(&pool->queue);
    backends_init(&pool->servers, &servers, now_ms);
    budget_init(&pool->requests, setting->requests_per_minute, now_ms);
    budget_init(&pool->tokens, setting->tokens_per_minute, now_ms);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->there, NULL);
    pool->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (pool->wake_fd < 0 || http_open(&pool->http, err) < 0) {
        pool_free(pool);
        return error_set(err, ERROR_EXHAUSTED, "cannot make an event loop");
    }
    http_set_connections(pool->http, setting->in_flight_max * setting->url_count + 1);
    if (pthread_create(&pool->thread, NULL, run, pool) != 0) {
        pool_free(pool);
        return error_set(err, ERROR_EXHAUSTED, "cannot start a thread");
    }
    *ret_pool = pool;
    return 0;
}
