// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/health_server.h"

#include "lib/prometheus.h"
#include "lib/time/clock.h"
#include "operator/commands/page_server.h"
#include "operator/operator_metrics.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN_TEXT "text/plain; charset=utf-8"

struct health_server {
    struct page_server *pages;
    char *bind; /* without its port */
    bool has_metrics;
    atomic_bool is_ready;
    atomic_llong beat_ms;
    _Atomic(const char *) state;
};

static struct server_page health_page(const struct health_server *server) {
    int64_t silent_ms = clock_monotonic_ms() - atomic_load(&server->beat_ms);
    if (silent_ms < HEALTH_SERVER_STUCK_MS) {
        return (struct server_page){
            .body = x_strdup("ok\n"), .content_type = PLAIN_TEXT, .status = 200};
    }
    char *body =
        x_printf("the controller's loop has not run for %lld s\n", (long long)(silent_ms / 1000));
    return (struct server_page){.body = body, .content_type = PLAIN_TEXT, .status = 503};
}

static struct server_page on_page(void *context, const struct server_request *request) {
    const struct health_server *server = context;
    const char *path = request->path;
    if (strcmp(path, "/healthz") == 0) {
        return health_page(server);
    }
    if (strcmp(path, "/readyz") == 0) {
        return (struct server_page){.body = x_printf("%s\n", atomic_load(&server->state)),
                                    .content_type = PLAIN_TEXT,
                                    .status = atomic_load(&server->is_ready) ? 200 : 503};
    }
    if (server->has_metrics && strcmp(path, "/metrics") == 0) {
        return (struct server_page){.body = operator_metrics_page(),
                                    .content_type = PROMETHEUS_CONTENT_TYPE,
                                    .status = 200};
    }
    return (struct server_page){0};
}

static const struct server_events events = {.page = on_page};

static int listen_at(struct health_server *server, const char *bind, struct error *err) {
    struct server_options options = {.bind = bind, .events = &events, .context = server};
    if (page_server_open(&options, NULL, &server->pages, err) < 0) {
        return -1;
    }
    server->bind = x_strndup(bind, (size_t)(strrchr(bind, ':') - bind));
    return 0;
}

int health_server_open(const char *bind, bool has_metrics, struct health_server **ret_server,
                       struct error *err) {
    struct health_server *server = x_calloc(1, sizeof *server);
    server->has_metrics = has_metrics;
    atomic_store(&server->state, "starts");
    health_server_beat(server);
    struct error no_ipv6 = {0};
    int result = bind ? listen_at(server, bind, err) : listen_at(server, "[::]:8080", &no_ipv6);
    if (!bind && result < 0) {
        result = listen_at(server, "0.0.0.0:8080", err);
    }
    if (result < 0) {
        health_server_free(server);
        return -1;
    }
    *ret_server = server;
    return 0;
}

void health_server_free(struct health_server *server) {
    if (!server) {
        return;
    }
    page_server_free(server->pages);
    free(server->bind);
    free(server);
}

char *health_server_address(const struct health_server *server) {
    return x_printf("http://%s:%d", server->bind, page_server_port(server->pages));
}

void health_server_beat(struct health_server *server) {
    atomic_store(&server->beat_ms, clock_monotonic_ms());
}

void health_server_set_state(struct health_server *server, bool is_ready, const char *state) {
    atomic_store(&server->state, state);
    atomic_store(&server->is_ready, is_ready);
}
