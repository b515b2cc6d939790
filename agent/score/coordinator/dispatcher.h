/* dispatcher.h: the coordinator's side of all connections: admits workers, sends leases, passes
 * results to ledger and journal, and notifies workers of commits. For the coordinator's thread
 * alone. Each event is handled completely before its function returns. */
#pragma once

#include "agent/score/coordinator/connections.h"
#include "agent/score/coordinator/prepared.h"
#include "agent/score/coordinator/run_progress.h"
#include "agent/score/wire/message.h"
#include "lib/net/server.h"

enum {
    DISPATCHER_HELLO_MS = 10000, /* connections without a hello after this time are closed */
    /* Of all deferred messages; the connection of a worker that sends more is closed. */
    DISPATCHER_DEFERRED_BYTES = 16 << 20,
};

struct deferred_message;

struct dispatcher {
    const struct job *job;
    struct server *server;
    struct prepared_job
        *prepared; /* borrowed; NULL while the input is listed: no worker is admitted */
    struct run_progress progress;
    struct connections connections;
    bool is_closed;       /* a worker that connects now gets DONE */
    bool grants;          /* leases are granted */
    int64_t publishing;   /* committed leases whose files workers are publishing */
    int64_t published_ms; /* the last time one of them was sent or finished */
    int64_t losses;       /* workers that disconnected without a LEAVING message */
    int64_t noted_ms;     /* when the cost of requests was last noted for others */
    struct error failure; /* the journal's first error; the job cannot continue then */
    bool is_paused;       /* between dispatcher_pause and dispatcher_resume */
    struct deferred_message *deferred, **deferred_end; /* messages, oldest first */
    size_t deferred_bytes;
    struct connection *gone; /* connections closed while paused */
};

/* server_events; their context is the dispatcher. */
void dispatcher_opened(void *context, struct server_peer *peer);
void dispatcher_received(void *context, struct server_peer *peer, const char *text, size_t size);
void dispatcher_closed(void *context, struct server_peer *peer);

/* To be called when the input is listed: admits the workers that have connected. */
void dispatcher_start(struct dispatcher *dispatcher, struct prepared_job *prepared);
/* Revokes and grants leases. Call it after every change of the ledger. */
void dispatcher_settle(struct dispatcher *dispatcher);
/* journal_turn, then notifies workers of their committed leases. */
NODISCARD int dispatcher_turn(struct dispatcher *dispatcher, bool at_once, struct error *err);
/* From now on another thread uses journal and ledger: messages are deferred, and connects and
 * disconnects are handled later. */
void dispatcher_pause(struct dispatcher *dispatcher);
/* Handles everything that was deferred, in its order. */
void dispatcher_resume(struct dispatcher *dispatcher);
/* Closes connections that never sent hello. Call it regularly. */
void dispatcher_tick(struct dispatcher *dispatcher);

/* The job has ended: sends DONE to every worker and closes all connections. */
void dispatcher_dismiss(struct dispatcher *dispatcher);
void dispatcher_release(struct dispatcher *dispatcher);
