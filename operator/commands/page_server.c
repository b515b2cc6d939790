// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/page_server.h"

#include "lib/time/clock.h"
#include "lib/time/timed_wait.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { SERVICE_MS = 60000, TURN_MS = 10000 };

struct page_server {
    struct server *server;
    page_server_turn *turn; /* may be NULL */
    void *context;
    pthread_t thread;
    bool has_thread;
    atomic_bool is_over;
};

static void *serve(void *context) {
    struct page_server *server = context;
    struct error ignored = {0};
    int wait_ms = server->turn ? TURN_MS : SERVICE_MS;
    while (!atomic_load(&server->is_over) &&
           server_service(server->server, wait_ms, &ignored) == 0) {
        if (server->turn) {
            server->turn(server->context, server->server);
        }
    }
    return NULL; /* without answers to its probes the kubelet restarts us */
}

int page_server_open(const struct server_options *options, page_server_turn *turn,
                     struct page_server **ret_server, struct error *err) {
    struct page_server *server = x_calloc(1, sizeof *server);
    server->turn = turn;
    server->context = options->context;
    int result = server_open(options, &server->server, err);
    int code = result < 0 ? 0 : pthread_create(&server->thread, NULL, serve, server);
    server->has_thread = result == 0 && code == 0;
    if (!server->has_thread) {
        page_server_free(server);
        return result < 0 ? -1 : error_from_errno(err, code, "cannot start a thread");
    }
    *ret_server = server;
    return 0;
}

bool page_server_end(struct page_server *server, int wait_ms) {
    atomic_store(&server->is_over, true);
    server_wake(server->server);
    server->has_thread = !timed_wait_join(server->thread, clock_monotonic_ms() + wait_ms);
    return !server->has_thread;
}

void page_server_free(struct page_server *server) {
    if (!server) {
        return;
    }
    if (server->has_thread) {
        atomic_store(&server->is_over, true);
        server_wake(server->server);
        pthread_join(server->thread, NULL);
    }
    server_free(server->server);
    free(server);
}

int page_server_port(const struct page_server *server) {
    return server_port(server->server);
}
