// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/pages.h"

#include "lib/metrics.h"
#include "lib/net/server.h"
#include "lib/time/clock.h"
#include "operator/operator_metrics.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SERVICE_MS = 60000 };

#define PLAIN_TEXT "text/plain; charset=utf-8"

struct pages {
    struct server *server;
    char *bind; /* without its port */
    pthread_t thread;
    bool has_thread;
    atomic_bool is_over, is_ready;
    atomic_llong beat_ms;
    _Atomic(const char *) state;
};

static struct server_page health_page(const struct pages *pages) {
    int64_t silent_ms = clock_monotonic_ms() - atomic_load(&pages->beat_ms);
    if (silent_ms < PAGES_STUCK_MS) {
        return (struct server_page){x_strdup("ok\n"), PLAIN_TEXT, 200};
    }
    char *body = x_printf("the controller's loop has not turned for %lld s\n",
                          (long long)(silent_ms / 1000));
    return (struct server_page){body, PLAIN_TEXT, 503};
}

static struct server_page on_page(void *context, const char *path) {
    const struct pages *pages = context;
    if (strcmp(path, "/healthz") == 0) {
        return health_page(pages);
    }
    if (strcmp(path, "/readyz") == 0) {
        return (struct server_page){x_printf("%s\n", atomic_load(&pages->state)), PLAIN_TEXT,
                                    atomic_load(&pages->is_ready) ? 200 : 503};
    }
    if (strcmp(path, "/metrics") == 0) {
        return (struct server_page){operator_metrics_page(), METRICS_CONTENT_TYPE, 200};
    }
    return (struct server_page){0};
}

static const struct server_events events = {.page = on_page};

static void *serve(void *context) {
    struct pages *pages = context;
    struct error ignored = {0};
    while (!atomic_load(&pages->is_over) &&
           server_service(pages->server, SERVICE_MS, &ignored) == 0) {
    }
    return NULL; /* without answers to its probes the kubelet restarts us */
}

static int listen_at(struct pages *pages, const char *bind, struct error *err) {
    struct server_options options = {.bind = bind, .events = &events, .context = pages};
    if (server_open(&options, &pages->server, err) < 0) {
        return -1;
    }
    pages->bind = x_strndup(bind, (size_t)(strrchr(bind, ':') - bind));
    return 0;
}

int pages_open(const char *bind, struct pages **ret_pages, struct error *err) {
    struct pages *pages = x_calloc(1, sizeof *pages);
    atomic_store(&pages->state, "starts");
    pages_beat(pages);
    struct error no_ipv6 = {0};
    int result = bind ? listen_at(pages, bind, err) : listen_at(pages, "[::]:8080", &no_ipv6);
    if (!bind && result < 0) {
        result = listen_at(pages, "0.0.0.0:8080", err);
    }
    int code = result < 0 ? 0 : pthread_create(&pages->thread, NULL, serve, pages);
    pages->has_thread = result == 0 && code == 0;
    if (!pages->has_thread) {
        pages_free(pages);
        return result < 0 ? -1 : error_from_errno(err, code, "cannot start a thread");
    }
    *ret_pages = pages;
    return 0;
}

void pages_free(struct pages *pages) {
    if (!pages) {
        return;
    }
    if (pages->has_thread) {
        atomic_store(&pages->is_over, true);
        server_wake(pages->server);
        pthread_join(pages->thread, NULL);
    }
    server_free(pages->server);
    free(pages->bind);
    free(pages);
}

char *pages_address(const struct pages *pages) {
    return x_printf("http://%s:%d", pages->bind, server_port(pages->server));
}

void pages_beat(struct pages *pages) {
    atomic_store(&pages->beat_ms, clock_monotonic_ms());
}

void pages_set_state(struct pages *pages, bool is_ready, const char *state) {
    atomic_store(&pages->state, state);
    atomic_store(&pages->is_ready, is_ready);
}
