// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/connections.h"

#include <stdlib.h>
#include <string.h>

struct connection *connections_add(struct connections *connections, struct server_peer *peer,
                                   int64_t now_ms) {
    struct connection *connection = x_calloc(1, sizeof *connection);
    *connection = (struct connection){
        .peer = peer, .worker = -1, .since_ms = now_ms, .next = connections->first};
    if (connection->next) {
        connection->next->previous = connection;
    }
    connections->first = connection;
    server_peer_set(peer, connection);
    return connection;
}

static void take_off_unsent(struct connections *connections, struct connection *connection) {
    if (connection->is_unsent) {
        struct connection **at = &connections->unsent;
        while (*at != connection) {
            at = &(*at)->next_unsent;
        }
        *at = connection->next_unsent;
        connection->is_unsent = false;
    }
}

void connections_remove(struct connections *connections, struct connection *connection) {
    take_off_unsent(connections, connection);
    *(connection->previous ? &connection->previous->next : &connections->first) = connection->next;
    if (connection->next) {
        connection->next->previous = connection->previous;
    }
    connection->next = connection->previous = NULL;
}

void connection_free(struct connection *connection) {
    message_batch_release(&connection->leases);
    message_batch_release(&connection->committed);
    tree_freep(&connection->files);
    free(connection->publications);
    free(connection);
}

void connections_release(struct connections *connections) {
    while (connections->first) {
        struct connection *next = connections->first->next;
        connection_free(connections->first);
        connections->first = next;
    }
    free(TAKE(connections->of_worker));
    connections->unsent = NULL;
    connections->worker_count = connections->worker_room = 0;
}

void connections_admit(struct connections *connections, struct connection *connection, int worker,
                       int64_t epoch) {
    size_t count = (size_t)worker + 1;
    if (count > connections->worker_room) {
        connections->worker_room = MAX(2 * connections->worker_room, count);
        connections->of_worker = x_realloc_array(connections->of_worker, connections->worker_room,
                                                 sizeof *connections->of_worker);
    }
    while (connections->worker_count < count) {
        connections->of_worker[connections->worker_count++] = NULL;
    }
    connections->of_worker[worker] = connection;
    connection->worker = worker;
    message_batch_init(&connection->leases, MESSAGE_LEASES, epoch);
    message_batch_init(&connection->committed, MESSAGE_COMMITTED, epoch);
}

void connections_dismiss(struct connections *connections, struct connection *connection) {
    connections->of_worker[connection->worker] = NULL;
    connection->worker = -1;
}

struct connection *connections_of_worker(const struct connections *connections, int worker) {
    return worker >= 0 && (size_t)worker < connections->worker_count
               ? connections->of_worker[worker]
               : NULL;
}

/* ---- sending -------------------------------------------------------------------------------- */

void connection_send(struct connection *connection, const struct message *message) {
    AUTO(text_freep) char *text = message_format(message);
    server_send(connection->peer, text);
}

static void send_batch(struct connection *connection, struct message_batch *batch) {
    AUTO(text_freep) char *text = message_batch_take(batch);
    if (text) {
        server_send(connection->peer, text);
    }
}

static void note_unsent(struct connections *connections, struct connection *connection) {
    if (!connection->is_unsent) {
        connection->is_unsent = true;
        connection->next_unsent = connections->unsent;
        connections->unsent = connection;
    }
}

int connections_add_lease(struct connections *connections, struct connection *connection,
                          const struct message_lease *lease, const char *work) {
    int added = message_batch_lease(&connection->leases, lease, work);
    if (added == 0) {
        send_batch(connection, &connection->leases);
        added = message_batch_lease(&connection->leases, lease, work);
    }
    if (added != 1) {
        return -1;
    }
    note_unsent(connections, connection);
    return 0;
}

void connections_add_committed(struct connections *connections, struct connection *connection,
                               int64_t lease) {
    if (message_batch_number(&connection->committed, lease) == 0) {
        send_batch(connection, &connection->committed);
        (void)message_batch_number(&connection->committed, lease);
    }
    note_unsent(connections, connection);
}

void connections_flush(struct connections *connections) {
    while (connections->unsent) {
        struct connection *connection = connections->unsent;
        connections->unsent = connection->next_unsent;
        connection->is_unsent = false;
        send_batch(connection, &connection->committed);
        send_batch(connection, &connection->leases);
    }
}
