// SPDX-License-Identifier: Apache-2.0
#include "agent/score/endpoint/pool.h"

#include "agent/score/endpoint/pool_state.h"
#include "agent/score/endpoint/request.h"
#include "lib/log.h"
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
    CONNECT_MS_MAX = 10000,
    LOOK_MS = 200,  /* how often those that no caller wants any more are looked for */
    PROBE_MS = 500, /* between two looks whether a server is there */
    HEADERS_OWN = 2,
};

/* ---- sending -------------------------------------------------------------------------------- */

/* What all requests to a server of the user have. */
static struct http_request request_to(const struct endpoint_setting *setting, const char *url) {
    bool is_https = text_starts(url, "https://");
    return (struct http_request){
        .url = url,
        .refuses_link_local = true,
        .authorities_pem = is_https ? setting->authority : NULL,
        .client_certificate_pem = is_https ? setting->certificate_pem : NULL,
        .client_key_pem = is_https ? setting->certificate_key_pem : NULL,
        .proxy = setting->proxy,
    };
}

static void send_to(struct pool *pool, struct pool_ask *ask, int server) {
    const struct endpoint_setting *setting = pool->setting;
    const char *base = pool->servers.of[server].url;
    AUTO(text_freep) char *url = x_printf("%s%s", base, endpoint_path_at(base, ask->path));
    struct error err = {0};
    struct http_request request = request_to(setting, url);
    request.kind = server + 1;
    request.method = ask->method;
    request.headers = pool->headers;
    request.bearer_token = setting->header ? NULL : setting->secret;
    request.body = ask->body;
    request.body_size = ask->body_size;
    request.borrows_body = true;
    request.is_http1 = text_starts(url, "http://");
    request.connect_ms = (int)MIN(setting->timeout_ms, (int64_t)CONNECT_MS_MAX);
    request.timeout_ms = (int)setting->timeout_ms;
    request.bytes_max = POOL_COMPLAINT_MAX;
    request.cuts_complaints = true;
    request.received = pool_received;
    request.done = pool_done;
    request.context = ask;
    ask->own.server = server;
    ask->own.sent_ms = clock_monotonic_ms();
    if (http_start(pool->http, &request, &ask->own.call, &err) < 0) {
        snprintf(ask->cause, sizeof ask->cause, "%.250s", err.text);
        pool_finish(pool, ask, POOL_REFUSED);
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
        pool_finish(pool, ask, unknown ? POOL_REFUSED : POOL_DROPPED);
        return true;
    }
    return false;
}

/* The limits are the job's. What may be sent adds up from the first request on: before it, workers
 * that start together would save up more than they may send. */
static void share_limits(struct pool *pool, int64_t now_ms) {
    int sharers = MAX(atomic_load(&pool->sharers), 1);
    double requests = (double)pool->setting->requests_per_minute / sharers;
    double tokens = (double)pool->setting->tokens_per_minute / sharers;
    if (!pool->has_begun) {
        pool->has_begun = pool->queue.first != NULL;
        budget_init(&pool->requests, requests, now_ms);
        budget_init(&pool->tokens, tokens, now_ms);
    } else if (sharers != pool->budget_sharers) {
        budget_limit(&pool->requests, requests, now_ms);
        budget_limit(&pool->tokens, tokens, now_ms);
    }
    pool->budget_sharers = sharers;
}

/* Sends what may be sent now. Returns how long nothing more can be, in ms, if nothing happens. */
static int64_t send_all(struct pool *pool, int64_t now_ms) {
    share_limits(pool, now_ms);
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
            pool_put_off(pool, ask_list_take(&pool->queue), REACTION_WAIT_MS_MIN);
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
            pool_finish(pool, ask, drops_all ? end : POOL_DROPPED);
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
            pool_finish(pool, ask, POOL_DROPPED);
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
        pool_end_all(pool, ERROR_UNAVAILABLE, why);
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
        pool_end_all(pool, err.kind, err.text);
    }
    drop_flying(pool);
    drop_waiting(pool, /* drops_all= */ false, POOL_DROPPED);
    check_away(pool);
}

/* ---- is a server there? --------------------------------------------------------------------- */

/* The server's own words by TLS; libcurl has no code for them that all its versions use. */
static bool wants_certificate(const struct error *err) {
    static const char *const alerts[] = {"alert certificate", "alert bad certificate",
                                         "alert unknown ca"};
    for (size_t i = 0; i < ARRAY_LEN(alerts); i++) {
        if (strstr(err->text, alerts[i])) {
            return true;
        }
    }
    return false;
}

static void on_probed(void *context, const struct http_answer *answer, bool is_sent UNUSED,
                      const struct error *err) {
    struct pool *pool = context;
    bool is_only = pool->servers.count == 1;
    bool is_final = is_only && !answer && (err->kind == ERROR_DENIED || err->kind == ERROR_INVALID);
    pool->is_probing = false;
    if (answer && (!pool->setting->ready_path || answer->status / 100 == 2)) {
        pool_note_there(pool);
    } else if (answer) {
        snprintf(pool->reason, sizeof pool->reason, "GET %.100s: %d", pool->setting->ready_path,
                 answer->status);
    } else if (is_final) {
        pool_end_all(pool, ERROR_INVALID, err->text);
    } else if (is_only && wants_certificate(err)) {
        char why[sizeof pool->ended.text];
        snprintf(why, sizeof why,
                 "%.300s: the server wants another certificate of its clients: see "
                 "spec.scorer.endpoint.clientCertificate",
                 err->text);
        pool_end_all(pool, ERROR_INVALID, why);
    } else {
        snprintf(pool->reason, sizeof pool->reason, "%.250s", err->text);
        pool_warn(pool, pool->servers.of[pool->probed].url, err->text);
    }
}

static void start_probe(struct pool *pool, int64_t now_ms) {
    pool->probed = (pool->probed + 1) % pool->servers.count;
    AUTO(text_freep)
    char *url =
        x_printf("%s%s", pool->servers.of[pool->probed].url, pool->setting->ready_path ?: "/");
    struct error err = {0};
    struct http_request request = request_to(pool->setting, url);
    request.reuse = HTTP_ONCE;
    request.connect_ms = CONNECT_MS_MAX;
    request.timeout_ms = CONNECT_MS_MAX;
    request.bytes_max = POOL_ANSWER_MAX;
    request.done = on_probed;
    request.context = pool;
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
        pool_end_all(pool, ERROR_UNAVAILABLE, why);
    } else if (!pool->is_probing && now_ms >= pool->probe_ms) {
        start_probe(pool, now_ms);
    }
    return PROBE_MS / 4;
}

/* ---- the thread ----------------------------------------------------------------------------- */

static bool take_inbox(struct pool *pool) {
    pthread_mutex_lock(&pool->lock);
    ask_list_move(&pool->inbox, &pool->queue);
    pool->is_hungry = false;
    bool ends = pool->ends;
    pthread_mutex_unlock(&pool->lock);
    return !ends;
}

/* While some wait for room, more of them need not wake this thread: an answer does. */
static int64_t sleep_ms(struct pool *pool, int64_t wait_ms) {
    pthread_mutex_lock(&pool->lock);
    bool has_more = pool->inbox.first != NULL;
    pool->is_hungry = !pool->queue.first;
    pthread_mutex_unlock(&pool->lock);
    return has_more ? 0 : wait_ms;
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
        (void)!http_wait(pool->http, (int)sleep_ms(pool, wait_ms), &err);
    }
    if (err.kind) {
        pool_end_all(pool, ERROR_UNAVAILABLE, err.text);
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
    ask->held = 0;
    buffer_init(&ask->own.body, POOL_ANSWER_MAX);
    sem_init(&ask->own.done, /* pshared= */ 0, 0);
    pthread_mutex_lock(&pool->lock);
    bool wakes = pool->is_hungry;
    pool->is_hungry = false;
    ask_list_append(&pool->inbox, ask);
    pthread_mutex_unlock(&pool->lock);
    if (wakes) {
        wake(pool);
    }
    while (sem_wait(&ask->own.done) < 0) { /* a signal */
    }
    sem_destroy(&ask->own.done);
}

void pool_share(struct pool *pool, int workers) {
    atomic_store(&pool->sharers, workers);
}

void pool_give_back(struct pool *pool, int64_t *held) {
    answer_memory_give_back(&pool->memory, held);
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

/* Those of the spec, and the key's. */
static void make_headers(struct pool *pool) {
    const struct endpoint_setting *setting = pool->setting;
    size_t count = HEADERS_OWN;
    const char *name;
    json_t *value;
    pool->headers =
        x_calloc(HEADERS_OWN + json_object_size(setting->headers) + 2, sizeof *pool->headers);
    pool->headers[0] = "Content-Type: application/json";
    pool->headers[1] = "Accept: application/json";
    json_object_foreach((json_t *)(uintptr_t)setting->headers, name, value) {
        const char *text = json_string_value(value) ?: "";
        /* libcurl takes "Name:" for a header that it leaves out, "Name;" for an empty one. */
        pool->headers[count++] = *text ? x_printf("%s: %s", name, text) : x_printf("%s;", name);
    }
    pool->headers[count] = pool->key_header;
}

static void free_headers(struct pool *pool) {
    for (size_t i = HEADERS_OWN; pool->headers && pool->headers[i]; i++) {
        if (pool->headers[i] != pool->key_header) {
            free((char *)(uintptr_t)pool->headers[i]);
        }
    }
    free(TAKE(pool->headers));
}

static void pool_free(struct pool *pool) {
    free_headers(pool);
    http_free(pool->http);
    backends_release(&pool->servers);
    fd_closep(&pool->wake_fd);
    secret_forget(&pool->key_header);
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
    /* The last line of the log says why a worker that has finished nothing ends: worker.c. */
    if (atomic_load(&pool->metrics.counts[REQUESTS_ANSWERS]) > 0) {
        AUTO(text_freep) char *told = request_metrics_text(&pool->metrics);
        log_event(LOG_INFO, "%s", told);
    }
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
    pool->memory.most = setting->answer_bytes;
    pool->key_header = setting->secret && setting->header
                           ? x_printf("%s: %s", setting->header, setting->secret)
                           : NULL;
    make_headers(pool);
    pool->began_ms = now_ms;
    pool->metrics.began_ms = clock_wall_ms();
    pool->probed = -1;
    pool->told_ms = now_ms - POOL_TOLD_MS;
    ask_list_mend(&pool->inbox);
    ask_list_mend(&pool->queue);
    backends_init(&pool->servers, &servers, now_ms);
    pthread_mutex_init(&pool->lock, NULL);
    pool->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (pool->wake_fd < 0 || http_open(&pool->http, err) < 0 ||
        http_wake_by(pool->http, pool->wake_fd, err) < 0) {
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
