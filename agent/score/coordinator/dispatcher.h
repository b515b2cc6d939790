/* dispatcher.h: the coordinator's side of all connections: who is here, which leases go out, which
 * results come in and into the journal, who hears of what is committed. For the coordinator's
 * thread alone; what follows from an event is done before the event's function returns. */
#pragma once

#include "agent/score/coordinator/prepare.h"
#include "agent/score/coordinator/progress.h"
#include "agent/score/wire/message.h"
#include "lib/net/server.h"

enum {
    DISPATCHER_HELLO_MS = 10000, /* a peer that has not said hello by then is closed */
    /* Of deferred messages in all; a worker that sends more is closed. */
    DISPATCHER_DEFERRED_BYTES = 16 << 20,
};

struct connection;
struct deferred_message;

struct dispatcher {
    const struct job *job;
    struct server *server;
    struct prepared *prepared; /* NULL while listing: nobody is admitted */
    struct progress progress;
    struct connection *connections;
    struct connection **connection_of; /* by worker index; NULL: not here */
    size_t connection_of_count;
    bool is_closed;       /* who comes now hears that no work is left */
    bool gives;           /* leases */
    int64_t publishing;   /* committed leases whose files their workers publish now */
    int64_t published_ms; /* when one of them was last told or done */
    int64_t losses;       /* workers that went without a word */
    struct error failure; /* of the journal: the job cannot go on */
    bool is_paused;       /* between dispatcher_pause and dispatcher_resume */
    struct deferred_message *deferred, **deferred_end; /* messages, oldest first */
    size_t deferred_bytes;
    struct connection *gone; /* who went meanwhile */
};

/* server_events; their context is the dispatcher. */
void dispatcher_opened(void *context, struct server_peer *peer);
void dispatcher_received(void *context, struct server_peer *peer, const char *text, size_t size);
void dispatcher_closed(void *context, struct server_peer *peer);

/* The input is listed: admits who has come meanwhile. */
void dispatcher_start(struct dispatcher *dispatcher, struct prepared *prepared);
/* Leases that are taken away, leases that are given. After everything that changes the ledger. */
void dispatcher_settle(struct dispatcher *dispatcher);
/* journal_turn, and tells workers what of theirs is committed. */
NODISCARD int dispatcher_turn(struct dispatcher *dispatcher, bool at_once, struct error *err);
/* From here on journal and ledger stand still (another thread works on them): what workers say is
 * kept, who comes or goes is not heard of. */
void dispatcher_pause(struct dispatcher *dispatcher);
/* And now all of it happens, in its order. */
void dispatcher_resume(struct dispatcher *dispatcher);
/* Peers that never said who they are. Once in a while. */
void dispatcher_tick(struct dispatcher *dispatcher);

/* The end is known: everybody hears that no work is left, and is closed. */
void dispatcher_dismiss(struct dispatcher *dispatcher);
void dispatcher_release(struct dispatcher *dispatcher);
