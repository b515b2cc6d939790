// SPDX-License-Identifier: Apache-2.0
#include "agent/score/worker/ask_paths.h"

#include "agent/score/wire/message.h"
#include "agent/score/wire/run_paths.h"
#include "agent/score/worker/worker.h"
#include "lib/log.h"
#include "lib/net/socket.h"
#include "lib/time/clock.h"

#include <stdio.h>
#include <string.h>

enum { SERVICE_MS = 100 };

struct ask {
    const struct job *job;
    struct socket_client *socket;
    json_t *paths; /* the answer */
    bool is_over;  /* the job has ended */
    struct error failure;
};

static void on_opened(void *context) {
    struct ask *ask = context;
    struct message hello = {.type = MESSAGE_HELLO, .slots = 0};
    snprintf(hello.name, sizeof hello.name, "%s", ask->job->worker);
    AUTO(text_freep) char *text = message_format(&hello);
    socket_send(ask->socket, text);
}

static void on_received(void *context, const char *text, size_t size) {
    struct ask *ask = context;
    AUTO(message_release) struct message message = {0};
    struct error err = {0};
    if (message_parse(text, size, &message, &err) < 0) {
        log_event(LOG_WARNING, "invalid message from the coordinator: %s", err.text);
    } else if (message.type == MESSAGE_PATHS && !ask->paths) {
        ask->paths = json_deep_copy(message.paths);
    } else if (message.type == MESSAGE_DONE) {
        ask->is_over = true;
    } else if (message.type == MESSAGE_REFUSED) {
        error_set(&ask->failure, ERROR_FAILED, "the coordinator refuses this worker: %s",
                  message.text);
    }
}

static void on_closed(void *context, const struct error *why) {
    struct ask *ask = context;
    if (why->kind == ERROR_DENIED && strstr(why->text, "token")) {
        error_set(&ask->failure, ERROR_FAILED, "%s", why->text);
    }
}

static int await(struct ask *ask, struct error *err) {
    int64_t end_ms = clock_monotonic_ms() + WORKER_UNREACHABLE_MS;
    while (!ask->paths && !ask->is_over && !ask->failure.kind) {
        if (job_is_interrupted()) {
            return error_set(err, ERROR_CANCELLED, "interrupted before the first mini-batch");
        }
        if (clock_monotonic_ms() >= end_ms) {
            return error_set(err, ERROR_UNAVAILABLE,
                             "the coordinator at %s did not say within %d s what the spec's paths "
                             "lead to",
                             ask->job->coordinator, WORKER_UNREACHABLE_MS / 1000);
        }
        if (socket_service(ask->socket, SERVICE_MS, err) < 0) {
            return -1;
        }
    }
    if (ask->failure.kind) {
        *err = ask->failure;
        return -1;
    }
    return 0;
}

int ask_paths(const struct job *job, struct error *err) {
    static const struct socket_events events = {on_opened, on_received, on_closed};
    AUTO(tree_freep) json_t *own = NULL;
    AUTO(socket_freep) struct socket_client *socket = NULL;
    struct ask ask = {.job = job};
    struct socket_options options = {.address = job->coordinator,
                                     .path = "/work",
                                     .token = job->token,
                                     .sha256 = job->sha256,
                                     .events = &events,
                                     .context = &ask};
    if (!run_paths_has_published(job->spec)) {
        if (run_paths_find(job->spec, &own, err) < 0) {
            return -1;
        }
        if (json_object_size(own) == 0) {
            return 0;
        }
    }
    if (socket_open(&options, &socket, err) < 0) {
        return error_context(err, "coordinator");
    }
    ask.socket = socket;
    int result = await(&ask, err);
    run_paths_apply(job->spec, ask.paths);
    tree_freep(&ask.paths);
    return result < 0 ? -1 : ask.is_over;
}
