// SPDX-License-Identifier: Apache-2.0
#include "operator/control/flight.h"

#include <stdlib.h>

static size_t add_writes(struct flight *flight, const json_t *writes, bool creations) {
    size_t count = flight->write_count;
    for (size_t i = 0; i < json_array_size(writes); i++) {
        const json_t *asked = json_array_get(writes, i);
        enum cluster_verb verb = (enum cluster_verb)tree_integer(asked, "verb", 0);
        if ((verb == CLUSTER_CREATE) == creations) {
            json_t *object = json_incref(json_object_get(asked, "object"));
            flight->writes[count++] = (struct flight_write){flight, verb, object};
            flight->changes |= verb != CLUSTER_DELETE;
        }
    }
    return count;
}

struct flight *flight_new(const char *key, const char *namespace, const json_t *writes) {
    struct flight *flight = x_calloc(1, sizeof *flight);
    flight->key = x_strdup(key);
    flight->namespace = x_strdup(namespace);
    flight->failed = json_object();
    flight->writes = x_calloc(json_array_size(writes), sizeof *flight->writes);
    flight->write_count = add_writes(flight, writes, false);
    flight->write_count = add_writes(flight, writes, true);
    return flight;
}

void flight_free(void *opaque) {
    struct flight *flight = opaque;
    for (size_t i = 0; i < flight->write_count; i++) {
        json_decref(flight->writes[i].object);
    }
    json_decref(flight->events);
    json_decref(flight->failed);
    free(flight->writes);
    free(flight->namespace);
    free(flight->key);
    free(flight);
}

static void note_failed(struct flight *flight, const struct flight_write *write) {
    const char *name = tree_text(write->object, "metadata.name", "");
    json_object_set_new(flight->failed, write->verb == CLUSTER_STATUS ? "" : name, json_true());
}

static void on_done(void *context, const json_t *stored, const struct error *err);

static void advance(struct flight *flight) {
    while (flight->started < flight->write_count) {
        struct flight_write *write = &flight->writes[flight->started];
        bool creates = write->verb == CLUSTER_CREATE;
        if (creates && (flight->is_stopped || flight->creating >= flight->window)) {
            return;
        }
        flight->started++;
        flight->pending++;
        flight->creating += creates;
        flight->listener->starts(flight->context, write);
        flight->cluster->ops->write(flight->cluster, write->verb, write->object, on_done, write);
    }
}

static void on_done(void *context, const json_t *stored, const struct error *err) {
    struct flight_write *write = context;
    struct flight *flight = write->flight;
    flight->pending--;
    if (write->verb == CLUSTER_CREATE) {
        flight->creating--;
        flight->window += !err;
        flight->is_stopped |= err && (err->kind == ERROR_DENIED || err->kind == ERROR_INVALID);
    }
    if (err) {
        note_failed(flight, write);
    }
    flight->listener->ended(flight->context, write, stored, err);
    advance(flight);
    if (flight->pending == 0) {
        for (size_t i = flight->started; i < flight->write_count; i++) {
            note_failed(flight, &flight->writes[i]);
        }
        flight->listener->landed(flight->context, flight);
    }
}

void flight_start(struct flight *flight, struct cluster *cluster, size_t window,
                  const struct flight_listener *listener, void *context) {
    flight->cluster = cluster;
    flight->window = window;
    flight->listener = listener;
    flight->context = context;
    advance(flight);
}
