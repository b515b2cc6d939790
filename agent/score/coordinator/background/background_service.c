// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/background/background_service.h"

#include "agent/score/coordinator/tidy.h"
#include "agent/score/wire/volume_watch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { SERVICE_MS = 100 };

struct background_service {
    struct server *server;
    pthread_t thread;
    bool is_running;
    atomic_bool ends;
};

static void *serve(void *context) {
    struct background_service *service = context;
    struct error err = {0};
    while (!atomic_load(&service->ends) && server_service(service->server, SERVICE_MS, &err) == 0) {
    }
    return NULL;
}

struct background_service *background_service_new(struct server *server) {
    struct background_service *service = x_calloc(1, sizeof *service);
    service->server = server;
    service->is_running = pthread_create(&service->thread, NULL, serve, service) == 0;
    return service;
}

void background_service_free(struct background_service *service) {
    if (service->is_running) {
        atomic_store(&service->ends, true);
        server_wake(service->server);
        pthread_join(service->thread, NULL);
    }
    free(service);
}

json_t *background_service_look_back(struct server *server, const struct job *job, int *ret_code,
                                     struct error *err) {
    struct background_service *service = background_service_new(server);
    bool is_dead = volume_watch_check(job, VOLUME_CHECK_MS, err) < 0;
    json_t *words = is_dead ? NULL : summary_read_message(job, /* any_uid= */ false, ret_code);
    background_service_free(service);
    return words;
}

void background_service_tidy(struct server *server, const struct job *job, struct store *output,
                             bool was_killed) {
    struct background_service *service = background_service_new(server);
    tidy_run(job, output, was_killed);
    background_service_free(service);
}

void background_service_tidy_ended(struct server *server, const struct job *job) {
    struct background_service *service = background_service_new(server);
    tidy_run_ended(job);
    background_service_free(service);
}
