/* election.h: who leads, by a Lease object: PURE. The caller reads and writes the object and tells
 * the time (monotonic, its own clock: clocks of machines are never compared). */
#pragma once

#include "lib/tree.h"

enum {
    ELECTION_LEASE_S = 10,      /* after so long without a renewal anybody may take it */
    ELECTION_RENEW_MS = 2000,   /* a leader renews */
    ELECTION_GIVE_UP_MS = 8000, /* a leader that could not renew for so long leads no more */
    ELECTION_POLL_MS = 1000,    /* a standby tries; a leader whose renewal failed tries again */
};

struct election {
    const char *identity; /* ours: unique among all replicas and restarts */
    json_t *seen;         /* the Lease as last seen or stored; NULL: none, or not read yet */
    bool is_known;        /* whether there is one has been read since the last doubt */
    bool is_held, is_lost;
    int64_t changed_ms; /* when `seen` was first seen so */
    int64_t renewed_ms; /* when the last renewal that succeeded was sent */
    int64_t acted_ms;   /* when the last request was sent */
};

enum election_act {
    ELECTION_WAIT,      /* until *ret_due_ms */
    ELECTION_READ,      /* GET */
    ELECTION_CREATE,    /* POST what election_claim says */
    ELECTION_UPDATE,    /* PUT it; it has the resourceVersion */
    ELECTION_STEP_DOWN, /* leads no more, and never again: is_lost is set */
};

void election_init(struct election *election, const char *identity); /* borrowed */
void election_release(struct election *election);

enum election_act election_next(struct election *election, int64_t now_ms, int64_t *ret_due_ms);

/* The Lease with us as its holder, or, with is_leaving, with nobody. Owned. */
json_t *election_claim(const struct election *election, const char *namespace, const char *name,
                       bool is_leaving, int64_t wall_ms);

/* What came of it. A request that failed in any way but these is told by election_failed. */
void election_read(struct election *election, const json_t *lease, int64_t now_ms); /* NULL: 404 */
void election_stored(struct election *election, const json_t *lease, int64_t sent_ms);
void election_failed(struct election *election); /* a CONFLICT, or nobody knows */
