/* ledger_slots.h: the slots of all workers and their leases, in linked lists of indices, so that no
 * event scans all slots. Pure; used by the ledger only.
 *
 * The head of a slot's queue is the lease that its worker runs. A lease has a twin if another slot
 * runs the same cells as a second run (ledger.h). A late lease was revoked, but its result is still
 * accepted. */
#pragma once

#include "agent/score/ledger/ledger_types.h"

enum { LATE_LEASES = 4096 /* maximum of revoked leases whose results are still accepted */ };

/* A slot with room for another lease is in the list of its number of leases: IDLE (none), ONE or
 * MORE. A slot with a lease is, by LINK_RUNNING, also in RUNNING (the head's clock runs) or WAITING
 * (it is stopped: ledger.h). */
enum slot_list { LIST_IDLE, LIST_ONE, LIST_MORE, LIST_RUNNING, LIST_WAITING, LIST_COUNT };
enum { LINK_ROOM, LINK_RUNNING, LINK_COUNT };

struct queued_lease {
    int64_t number, first;
    int32_t cells;
    int try;
    int32_t worker, slot; /* slot: index in slots */
    int32_t twin;         /* index, or -1 */
    int32_t chain; /* the next lease in its hash bucket; of a free element: the next free one */
    int32_t previous, next; /* in its slot's queue; of a late one: by age */
    int32_t older, newer;   /* neighbours in the list of leases without a twin, by age: candidates
                               for a second run */
    int64_t granted_ms;
    bool is_second;      /* a second (speculative) run of its cells */
    bool is_late;        /* revoked; its result is still accepted */
    bool has_no_twin;    /* not paired: it is linked by older and newer */
    bool is_last_chance; /* its twin has failed, and it gets no other: its own end decides whether
                            the cells are tried again */
    int losses;          /* of a lease of several cells: how many of its twins ended because their
                            worker or its storage was lost */
};

struct ledger_slot {
    int worker, number; /* number: the slot's within the worker */
    bool is_present;
    int32_t head, tail;  /* indices of leases, or -1 */
    int held;            /* leases in the queue */
    int64_t started_ms;  /* when the lease became the head, or its worker finally was ready for
                            it */
    int64_t waits_ms;    /* since when its worker is or was not ready for it; -1: it was ready */
    bool has_waited;     /* the worker also delayed the previous head, which has ended */
    int64_t stuck_lease; /* the slot gets no work until the worker reports this lease; -1: none */
    /* Its last leases: the sum of their durations, and their number. Both are halved when the
     * number reaches a maximum (slots_measure), so that older leases count less. */
    double busy_us, ended;
    int list[LINK_COUNT]; /* the list the link belongs to, or -1 */
    int previous[LINK_COUNT], next[LINK_COUNT];
};

struct slots {
    struct ledger_slot *of;
    size_t count, room;
    int ahead_max;
    int stuck; /* slots with a stuck_lease */
    int first[LIST_COUNT], last[LIST_COUNT];
    struct queued_lease *leases;
    size_t lease_count, lease_room; /* ever used */
    int32_t free_lease;
    int32_t *buckets; /* hash table by number; the size is a power of two */
    size_t bucket_count, hashed;
    int32_t oldest_alone, newest_alone, oldest_late, newest_late;
    int late;
};

void slots_init(struct slots *slots, int ahead_max);
void slots_release(struct slots *slots);
int slots_add(struct slots *slots, int worker, int count); /* returns the index of the first */

/* How many leases may be queued after the head. */
int slots_ahead(const struct slots *slots, int slot);
/* Sets the slot's stuck_lease; -1: it has none. */
void slots_set_stuck(struct slots *slots, struct ledger_slot *slot, int64_t lease);
/* Puts a slot into or out of the list of slots with room, after is_present or stuck_lease has
 * changed. */
void slots_place(struct slots *slots, int slot);

/* Adds a new lease at the end of the slot's queue; the caller sets number, range and try before. */
int32_t slots_lease(struct slots *slots, int slot, const struct queued_lease *lease,
                    int64_t now_ms);
int32_t slots_find(const struct slots *slots, int64_t number); /* also late ones; -1: none */
/* Removes the lease from its slot's queue and from its twin. is_late: it can still be found as a
 * late one; otherwise it is freed. */
void slots_drop(struct slots *slots, int32_t lease, bool is_late, int64_t now_ms);
void slots_forget(struct slots *slots, int32_t lease); /* a late one */
void slots_pair(struct slots *slots, int32_t lease, int32_t second);
/* The worker is not ready for the head, or (is_ready) is ready now. */
void slots_set_ready(struct slots *slots, int slot, bool is_ready, int64_t now_ms);
/* The head has ended after us microseconds: updates the slot's averages. */
void slots_measure(struct slots *slots, int slot, int64_t us);
