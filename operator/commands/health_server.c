// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/health_server.h"

#include "lib/net/server.h"
#include "lib/prometheus.h"
#include "lib/time/clock.h"
#include "operator/operator_metrics.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SERVICE_MS = 60000 };

#define PLAIN_TEXT "text/plain; charset=utf-8"

struct health_server {
    struct server *server;
    char *bind; /* without its port */
    pthread_t thread;
    bool has_thread;
    atomic_bool is_over, is_ready;
    atomic_llong beat_ms;
    _Atomic(const char *) state;
};

static struct server_page health_page(const struct health_server *server) {
    int64_t silent_ms = clock_monotonic_ms() - atomic_load(&server->beat_ms);
    if (silent_ms < HEALTH_SERVER_STUCK_MS) {
        return (struct server_page){x_strdup("ok\n"), PLAIN_TEXT, 200};
    }
    char *body =
        x_printf("the controller's loop has not run for %lld s\n", (long long)(silent_ms / 1000));
    return (struct server_page){body, PLAIN_TEXT, 503};
}

static struct server_page on_page(void *context, const struct server_request *request) {
    const struct health_server *server = context;
    const char *path = request->path;
    if (strcmp(path, "/healthz") == 0) {
        return health_page(server);
    }
    if (strcmp(path, "/readyz") == 0) {
        return (struct server_page){x_printf("%s\n", atomic_load(&server->state)), PLAIN_TEXT,
                                    atomic_load(&server->is_ready) ? 200 : 503};
    }
    if (strcmp(path, "/metrics") == 0) {
        return (struct server_page){operator_metrics_page(), PROMETHEUS_CONTENT_TYPE, 200};
    }
    return (struct server_page){0};
}

static const struct server_events events = {.page = on_page};

static void *serve(void *context) {
    struct health_server *server = context;
    struct error ignored = {0};
    while (!atomic_load(&server->is_over) &&
           server_service(server->server, SERVICE_MS, &ignored) == 0) {
    }
    return NULL; /* without answers to its probes the kubelet restarts us */
}

static int listen_at(struct health_server *server, const char *bind, struct error *err) {
    struct server_options options = {.bind = bind, .events = &events, .context = server};
    if (server_open(&options, &server->server, err) < 0) {
        return -1;
    }
    server->bind = x_strndup(bind, (size_t)(strrchr(bind, ':') - bind));
    return 0;
}

int health_server_open(const char *bind, struct health_server **ret_server, struct error *err) {
    struct health_server *server = x_calloc(1, sizeof *server);
    atomic_store(&server->state, "starts");
    health_server_beat(server);
    struct error no_ipv6 = {0};
    int result = bind ? listen_at(server, bind, err) : listen_at(server, "[::]:8080", &no_ipv6);
    if (!bind && result < 0) {
        result = listen_at(server, "0.0.0.0:8080", err);
    }
    int code = result < 0 ? 0 : pthread_create(&server->thread, NULL, serve, server);
    server->has_thread = result == 0 && code == 0;
    if (!server->has_thread) {
        health_server_free(server);
        return result < 0 ? -1 : error_from_errno(err, code, "cannot start a thread");
    }
    *ret_server = server;
    return 0;
}

void health_server_free(struct health_server *server) {
    if (!server) {
        return;
    }
    if (server->has_thread) {
        atomic_store(&server->is_over, true);
        server_wake(server->server);
        pthread_join(server->thread, NULL);
    }
    server_free(server->server);
    free(server->bind);
    free(server);
}

char *health_server_address(const struct health_server *server) {
    return x_printf("http://%s:%d", server->bind, server_port(server->server));
}

void health_server_beat(struct health_server *server) {
    atomic_store(&server->beat_ms, clock_monotonic_ms());
}

void health_server_set_state(struct health_server *server, bool is_ready, const char *state) {
    atomic_store(&server->state, state);
    atomic_store(&server->is_ready, is_ready);
}
