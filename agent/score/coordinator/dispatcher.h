/* desk.h: the coordinator's side of all connections: who is here, which leases go out, which
 * results come in and into the books, who hears of what is committed. For the coordinator's thread
 * alone; what follows from an event is done before the event's function returns. */
#pragma once

#include "agent/score/coordinator/prepare.h"
#include "agent/score/coordinator/progress.h"
#include "agent/score/wire/message.h"
#include "lib/net/server.h"

enum {
    DESK_HELLO_MS = 10000,      /* a peer that does not say who it is by then is closed */
    DESK_HELD_BYTES = 16 << 20, /* of messages that are held; who says more then is closed */
};

struct guest;
struct held;

struct desk {
    const struct job *job;
    struct server *server;
    struct prepared *prepared; /* NULL while listing: nobody is admitted */
    struct progress progress;
    struct guest *guests;
    struct guest **guest_of; /* by worker index; NULL: not here */
    size_t guest_of_count;
    bool is_closed;                /* who comes now hears that no work is left */
    bool gives;                    /* leases */
    int64_t publishing;            /* committed leases whose files their workers publish now */
    int64_t published_ms;          /* when one of them was last told or done */
    int64_t losses;                /* workers that went without a word */
    struct error failure;          /* of the books: the job cannot go on */
    bool holds;                    /* between desk_hold and desk_go_on */
    struct held *held, **held_end; /* messages, oldest first */
    size_t held_bytes;
    struct guest *gone; /* who went meanwhile */
};

/* server_events; their context is the desk. */
void desk_opened(void *context, struct server_peer *peer);
void desk_received(void *context, struct server_peer *peer, const char *text, size_t size);
void desk_closed(void *context, struct server_peer *peer);

/* The input is listed: admits who has come meanwhile. */
void desk_start(struct desk *desk, struct prepared *prepared);
/* Leases that are taken away, leases that are given. After everything that changes the ledger. */
void desk_settle(struct desk *desk);
/* books_turn, and tells workers what of theirs is committed. */
NODISCARD int desk_turn(struct desk *desk, bool at_once, struct error *err);
/* From here on books and ledger stand still (another thread works on them): what workers say is
 * kept, who comes or goes is not heard of. */
void desk_hold(struct desk *desk);
/* And now all of it happens, in its order. */
void desk_go_on(struct desk *desk);
/* Peers that never said who they are. Once in a while. */
void desk_tick(struct desk *desk);

/* The end is known: everybody hears that no work is left, and is closed. */
void desk_dismiss(struct desk *desk);
void desk_release(struct desk *desk);
