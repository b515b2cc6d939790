/* connections.h: the dispatcher's connections: who each one is, what waits to
 * be sent to it, and which worker it is. There may be ten thousand: no call goes through all of
 * them. For the coordinator's thread alone. */
#pragma once

#include "agent/score/wire/message.h"
#include "lib/net/server.h"

/* A committed lease that its worker is publishing. */
struct publication {
    int64_t lease, first, cells;
};

/* A connection; owned by the list until connections_remove. */
struct connection {
    struct server_peer *peer;
    struct connection *previous, *next;
    struct connection *next_unsent;  /* in connections.unsent, if is_unsent */
    char name[MESSAGE_NAME_MAX + 1]; /* "" before hello */
    int slots;
    char program[128]; /* scored_by.h; "": not said */
    json_t *files;     /* of its scorer, as its hello lists them; owned, may be NULL */
    int worker;        /* index in the ledger, or -1 */
    int64_t since_ms;
    bool is_leaving;                        /* its next results are its last */
    bool is_unsent;                         /* one of its batches is not empty */
    struct message_batch leases, committed; /* not sent yet */
    struct publication *publications;       /* oldest first */
    size_t publication_count, publication_room;
};

struct connections {
    struct connection *first; /* the newest */
    struct connection *unsent;
    struct connection **of_worker; /* by index in the ledger; NULL: not connected */
    size_t worker_count, worker_room;
};

/* A new one of that peer, which it is set for (server_peer_set). */
struct connection *connections_add(struct connections *connections, struct server_peer *peer,
                                   int64_t now_ms);
/* It belongs to the caller now, who frees it (connection_free). Sends nothing. */
void connections_remove(struct connections *connections, struct connection *connection);
void connection_free(struct connection *connection);
/* Frees all of them. */
void connections_release(struct connections *connections);

/* The connection is that worker's; its batches are of this epoch. */
void connections_admit(struct connections *connections, struct connection *connection, int worker,
                       int64_t epoch);
/* The worker has left its connection. */
void connections_dismiss(struct connections *connections, struct connection *connection);
/* NULL: the worker is not connected. Any index. */
struct connection *connections_of_worker(const struct connections *connections, int worker);

/* Sends a message now, before what its batches hold. */
void connection_send(struct connection *connection, const struct message *message);
/* 0, or -1: the lease is larger than any message; then nothing was added. */
int connections_add_lease(struct connections *connections, struct connection *connection,
                          const struct message_lease *lease, const char *work);
void connections_add_committed(struct connections *connections, struct connection *connection,
                               int64_t lease);
/* Sends all that was added. */
void connections_flush(struct connections *connections);
