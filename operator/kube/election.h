/* election.h: decides what to do in a leader election with a Lease object. Pure: the caller sends
 * the requests and passes the time, of its own monotonic clock (the clocks of two machines are
 * never compared). */
#pragma once

#include "lib/tree.h"

enum {
    ELECTION_LEASE_S = 10,      /* after this time without a renewal any replica may take it */
    ELECTION_RENEW_MS = 2000,   /* how often a leader renews */
    ELECTION_GIVE_UP_MS = 8000, /* a leader that could not renew for this long steps down */
    ELECTION_AGAIN_MS = 1000,   /* when a leader whose renewal failed tries again */
    ELECTION_POLL_MS = 2000,    /* how often a standby reads the Lease, and up to a fifth more */
};

struct election {
    const char *identity; /* ours: unique among all replicas and restarts */
    json_t *seen;         /* the Lease as last seen or stored; NULL: none, or not read yet */
    bool is_known;        /* the state of the Lease is known: no request failed since it was read */
    bool is_held, is_lost;
    int64_t changed_ms; /* when the content of `seen` was first seen */
    int64_t renewed_ms; /* when the last successful renewal was sent */
    int64_t acted_ms;   /* when the last request was sent */
    int64_t poll_ms;    /* of a standby, until its next request */
};

enum election_act {
    ELECTION_WAIT,      /* until *ret_due_ms */
    ELECTION_READ,      /* GET */
    ELECTION_CREATE,    /* POST the result of election_claim */
    ELECTION_UPDATE,    /* PUT it; it has the resourceVersion */
    ELECTION_STEP_DOWN, /* leadership is lost permanently: is_lost is set */
};

void election_init(struct election *election, const char *identity); /* borrowed */
void election_release(struct election *election);

/* The next request to send, if any. */
enum election_act election_next(struct election *election, int64_t now_ms, int64_t *ret_due_ms);

/* The Lease with us as its holder, or, with is_leaving, without a holder. Owned. */
json_t *election_claim(const struct election *election, const char *namespace, const char *name,
                       bool is_leaving, int64_t wall_ms);

/* Call one of these with the result of the request. lease: the answer to a GET (NULL: status 404),
 * or to a POST or PUT. Failures: everything but 404, also a CONFLICT and an unknown result. */
void election_read(struct election *election, const json_t *lease, int64_t now_ms);
void election_stored(struct election *election, const json_t *lease);
void election_failed(struct election *election);
