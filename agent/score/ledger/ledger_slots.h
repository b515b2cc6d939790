/* ledger_slots.h: which slot has which leases, in lists by index, so that no event scans all of
 * them. PURE; used by the ledger alone. */
#pragma once

#include "agent/score/ledger/ledger_types.h"

enum { LATE_LEASES = 4096 /* taken away, and their results still welcome */ };

/* A slot with room for a lease has none, one, or more; one with a lease runs it, or waits to. */
enum slot_list { LIST_IDLE, LIST_HALF, LIST_MORE, LIST_RUNNING, LIST_WAITING, LIST_COUNT };
enum { LINK_ROOM, LINK_RUNNING, LINK_COUNT };

struct lease {
    int64_t number, first;
    int32_t cells;
    int try;
    int32_t worker, slot;   /* slot: index in slots */
    int32_t twin;           /* the other lease of these cells, or -1 */
    int32_t chain;          /* the next of its hash; of a free one: the next free one */
    int32_t previous, next; /* in its slot's queue; of a late one: by age */
    int32_t older, newer;   /* of those that may get a twin, by age */
    int64_t granted_ms;
    bool is_second, is_late, is_alone; /* is_alone: in the list of older and newer */
};

struct slot {
    int worker, number; /* number: of the worker */
    bool is_present;
    int32_t head, tail; /* leases, or -1 */
    int held;
    int64_t started_ms;    /* when the head became it, or its worker was ready for it at last */
    int64_t waits_ms;      /* since when its worker is not ready for it, or was not; -1: it was */
    bool has_waited;       /* so it was with the one before, which came back */
    int64_t stuck_lease;   /* no more work until it is mentioned; -1: none */
    double busy_us, ended; /* of its last leases */
    int list[LINK_COUNT];  /* the list the link belongs to, or -1 */
    int previous[LINK_COUNT], next[LINK_COUNT];
};

struct slots {
    struct slot *of;
    size_t count, room;
    int ahead_max;
    int first[LIST_COUNT], last[LIST_COUNT];
    struct lease *leases;
    size_t lease_count, lease_room; /* ever used */
    int32_t free_lease;
    int32_t *buckets; /* by number, a power of two of them */
    size_t bucket_count, hashed;
    int32_t oldest_alone, newest_alone, oldest_late, newest_late;
    int late;
};

void slots_init(struct slots *slots, int ahead_max);
void slots_release(struct slots *slots);
int slots_add(struct slots *slots, int worker, int count); /* the first of them */

/* How many leases may be queued behind the head. */
int slots_ahead(const struct slots *slots, int slot);
/* After is_present or stuck_lease have changed: puts a slot into the list of those with room. */
void slots_place(struct slots *slots, int slot);

/* A new lease at the end of the slot's queue; number, range and try are the caller's to set before.
 */
int32_t slots_lease(struct slots *slots, int slot, const struct lease *lease, int64_t now_ms);
int32_t slots_find(const struct slots *slots, int64_t number); /* late ones, too; -1: none */
/* Takes it out of its slot's queue, and from its twin. It stays findable as a late one, or is gone.
 */
void slots_drop(struct slots *slots, int32_t lease, bool is_late, int64_t now_ms);
void slots_forget(struct slots *slots, int32_t lease); /* a late one */
void slots_pair(struct slots *slots, int32_t lease, int32_t second);
/* The worker is not ready for the head, or is now. */
void slots_wait(struct slots *slots, int slot, bool is_ready, int64_t now_ms);
/* The head has come back: how long leases last. */
void slots_measure(struct slots *slots, int slot, int64_t us);
