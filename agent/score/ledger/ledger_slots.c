// SPDX-License-Identifier: Apache-2.0
#include "agent/score/ledger/ledger_slots.h"

#include "agent/score/ledger/ledger_cells.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MEASURED_MAX = 512 /* after this many leases older ones count half */ };

void slots_init(struct slots *slots, int ahead_max) {
    *slots = (struct slots){.ahead_max = ahead_max,
                            .free_lease = -1,
                            .oldest_alone = -1,
                            .newest_alone = -1,
                            .oldest_late = -1,
                            .newest_late = -1};
    for (int list = 0; list < LIST_COUNT; list++) {
        slots->first[list] = slots->last[list] = -1;
    }
}

void slots_release(struct slots *slots) {
    free(slots->of);
    free(slots->leases);
    free(slots->buckets);
}

int slots_add(struct slots *slots, int worker, int count) {
    int first = (int)slots->count;
    for (int i = 0; i < count; i++) {
        slots->of = cells_grow(slots->of, slots->count, &slots->room, sizeof *slots->of);
        slots->of[slots->count++] = (struct ledger_slot){.worker = worker,
                                                         .number = i,
                                                         .head = -1,
                                                         .tail = -1,
                                                         .waits_ms = -1,
                                                         .stuck_lease = -1,
                                                         .list = {-1, -1}};
    }
    return first;
}

/* ---- lists of slots ------------------------------------------------------------------------- */

static void list_remove(struct slots *slots, int index, int link) {
    struct ledger_slot *slot = &slots->of[index];
    int list = slot->list[link];
    if (list < 0) {
        return;
    }
    int previous = slot->previous[link], next = slot->next[link];
    *(previous < 0 ? &slots->first[list] : &slots->of[previous].next[link]) = next;
    *(next < 0 ? &slots->last[list] : &slots->of[next].previous[link]) = previous;
    slot->list[link] = -1;
}

static void list_append(struct slots *slots, int index, int link, int list) {
    struct ledger_slot *slot = &slots->of[index];
    int last = slots->last[list];
    slot->list[link] = list;
    slot->previous[link] = last;
    slot->next[link] = -1;
    *(last < 0 ? &slots->first[list] : &slots->of[last].next[link]) = index;
    slots->last[list] = index;
}

int slots_ahead(const struct slots *slots, int index) {
    const struct ledger_slot *slot = &slots->of[index];
    double fits =
        slot->ended > 0 ? LEDGER_AHEAD_MS * 1000.0 * slot->ended / (slot->busy_us + 1) : 1;
    return (int)MIN(MAX(fits, 1), (double)slots->ahead_max);
}

void slots_set_stuck(struct slots *slots, struct ledger_slot *slot, int64_t lease) {
    slots->stuck += (lease >= 0) - (slot->stuck_lease >= 0);
    slot->stuck_lease = lease;
}

void slots_place(struct slots *slots, int index) {
    const struct ledger_slot *slot = &slots->of[index];
    int list = !slot->is_present || slot->stuck_lease >= 0 ? -1
               : slot->held == 0                           ? LIST_IDLE
               : slot->held > slots_ahead(slots, index)    ? -1
               : slot->held == 1                           ? LIST_ONE
                                                           : LIST_MORE;
    if (slot->list[LINK_ROOM] != list || list == LIST_MORE) { /* move it to the end, so that slots
                                                                 take turns */
        list_remove(slots, index, LINK_ROOM);
        if (list >= 0) {
            list_append(slots, index, LINK_ROOM, list);
        }
    }
}

/* The head has changed: its clock starts, and running slots stay sorted by start. While the worker
 * is still busy with a revoked lease, the clock is stopped. */
static void start_clock(struct slots *slots, int index, int64_t now_ms) {
    list_remove(slots, index, LINK_RUNNING);
    slots->of[index].waits_ms = -1;
    if (slots->of[index].held) {
        bool is_stuck = slots->of[index].stuck_lease >= 0;
        slots->of[index].started_ms = now_ms;
        slots->of[index].waits_ms = is_stuck ? now_ms : -1;
        list_append(slots, index, LINK_RUNNING, is_stuck ? LIST_WAITING : LIST_RUNNING);
    }
}

/* started_ms is kept while it waits: it shows how long the lease has made no progress. */
void slots_set_ready(struct slots *slots, int index, bool is_ready, int64_t now_ms) {
    struct ledger_slot *slot = &slots->of[index];
    bool waits = slot->list[LINK_RUNNING] == LIST_WAITING;
    if (!is_ready && !waits) {
        list_remove(slots, index, LINK_RUNNING);
        slot->waits_ms = now_ms;
        list_append(slots, index, LINK_RUNNING, LIST_WAITING);
    } else if (is_ready && waits && slot->stuck_lease < 0) {
        int64_t since_ms = slot->waits_ms;
        start_clock(slots, index, now_ms);
        slot->waits_ms = since_ms;
    }
}

void slots_measure(struct slots *slots, int index, int64_t us) {
    struct ledger_slot *slot = &slots->of[index];
    slot->busy_us += (double)us;
    slot->ended++;
    if (slot->ended >= MEASURED_MAX) {
        slot->busy_us /= 2;
        slot->ended /= 2;
    }
}

/* ---- leases by number ----------------------------------------------------------------------- */

static int32_t *bucket_of(const struct slots *slots, int64_t number) {
    return &slots->buckets[(uint64_t)number & (slots->bucket_count - 1)];
}

static void rehash(struct slots *slots) {
    slots->bucket_count = MAX(2 * slots->bucket_count, 64);
    slots->buckets = x_realloc_array(slots->buckets, slots->bucket_count, sizeof *slots->buckets);
    memset(slots->buckets, 0xff, slots->bucket_count * sizeof *slots->buckets); /* -1 */
    for (size_t i = 0; i < slots->lease_count; i++) {
        struct queued_lease *lease = &slots->leases[i];
        if (lease->number >= 0) {
            int32_t *bucket = bucket_of(slots, lease->number);
            lease->chain = *bucket;
            *bucket = (int32_t)i;
        }
    }
}

static int32_t lease_new(struct slots *slots, const struct queued_lease *values) {
    if (slots->hashed >= slots->bucket_count) {
        rehash(slots);
    }
    int32_t index = slots->free_lease;
    if (index >= 0) {
        slots->free_lease = slots->leases[index].chain;
    } else {
        slots->leases = cells_grow(slots->leases, slots->lease_count, &slots->lease_room,
                                   sizeof *slots->leases);
        index = (int32_t)slots->lease_count++;
    }
    int32_t *bucket = bucket_of(slots, values->number);
    slots->leases[index] = *values;
    slots->leases[index].chain = *bucket;
    *bucket = index;
    slots->hashed++;
    return index;
}

static void lease_free(struct slots *slots, int32_t index) {
    struct queued_lease *lease = &slots->leases[index];
    int32_t *link = bucket_of(slots, lease->number);
    while (*link != index) {
        link = &slots->leases[*link].chain;
    }
    *link = lease->chain;
    slots->hashed--;
    lease->number = -1;
    lease->chain = slots->free_lease;
    slots->free_lease = index;
}

int32_t slots_find(const struct slots *slots, int64_t number) {
    if (!slots->bucket_count || number < 0) {
        return -1;
    }
    int32_t index = *bucket_of(slots, number);
    while (index >= 0 && slots->leases[index].number != number) {
        index = slots->leases[index].chain;
    }
    return index;
}

/* ---- by age: leases without a twin, and revoked leases -------------------------------------- */

static void alone_remove(struct slots *slots, int32_t index) {
    struct queued_lease *lease = &slots->leases[index];
    if (lease->has_no_twin) {
        *(lease->older < 0 ? &slots->oldest_alone : &slots->leases[lease->older].newer) =
            lease->newer;
        *(lease->newer < 0 ? &slots->newest_alone : &slots->leases[lease->newer].older) =
            lease->older;
        lease->has_no_twin = false;
    }
}

/* Inserts nearly always at the end; a lease that has lost its twin is older. */
static void alone_insert(struct slots *slots, int32_t index) {
    struct queued_lease *lease = &slots->leases[index];
    int32_t older = slots->newest_alone;
    while (older >= 0 && slots->leases[older].granted_ms > lease->granted_ms) {
        older = slots->leases[older].older;
    }
    lease->older = older;
    lease->newer = older < 0 ? slots->oldest_alone : slots->leases[older].newer;
    *(older < 0 ? &slots->oldest_alone : &slots->leases[older].newer) = index;
    *(lease->newer < 0 ? &slots->newest_alone : &slots->leases[lease->newer].older) = index;
    lease->has_no_twin = true;
}

void slots_pair(struct slots *slots, int32_t lease, int32_t second) {
    slots->leases[lease].twin = second;
    slots->leases[second].twin = lease;
    alone_remove(slots, lease);
    alone_remove(slots, second);
}

void slots_forget(struct slots *slots, int32_t index) {
    struct queued_lease *lease = &slots->leases[index];
    assert(lease->is_late);
    *(lease->previous < 0 ? &slots->oldest_late : &slots->leases[lease->previous].next) =
        lease->next;
    *(lease->next < 0 ? &slots->newest_late : &slots->leases[lease->next].previous) =
        lease->previous;
    slots->late--;
    lease_free(slots, index);
}

static void remember_late(struct slots *slots, int32_t index) {
    struct queued_lease *lease = &slots->leases[index];
    lease->is_late = true;
    lease->previous = slots->newest_late;
    lease->next = -1;
    *(lease->previous < 0 ? &slots->oldest_late : &slots->leases[lease->previous].next) = index;
    slots->newest_late = index;
    if (++slots->late > LATE_LEASES) {
        slots_forget(slots, slots->oldest_late);
    }
}

/* ---- a slot's queue ------------------------------------------------------------------------- */

int32_t slots_lease(struct slots *slots, int slot_index, const struct queued_lease *values,
                    int64_t now_ms) {
    int32_t index = lease_new(slots, values);
    struct ledger_slot *slot = &slots->of[slot_index];
    struct queued_lease *lease = &slots->leases[index];
    lease->worker = slot->worker;
    lease->slot = slot_index;
    lease->twin = -1;
    lease->granted_ms = now_ms;
    lease->previous = slot->tail;
    lease->next = -1;
    lease->is_late = lease->has_no_twin = false;
    *(slot->tail < 0 ? &slot->head : &slots->leases[slot->tail].next) = index;
    slot->tail = index;
    alone_insert(slots, index);
    if (++slot->held == 1) {
        start_clock(slots, slot_index, now_ms);
    }
    slots_place(slots, slot_index);
    return index;
}

void slots_drop(struct slots *slots, int32_t index, bool is_late, int64_t now_ms) {
    struct queued_lease *lease = &slots->leases[index];
    struct ledger_slot *slot = &slots->of[lease->slot];
    bool was_head = slot->head == index;
    assert(!lease->is_late);
    *(lease->previous < 0 ? &slot->head : &slots->leases[lease->previous].next) = lease->next;
    *(lease->next < 0 ? &slot->tail : &slots->leases[lease->next].previous) = lease->previous;
    slot->held--;
    if (was_head) {
        start_clock(slots, lease->slot, now_ms);
    }
    slots_place(slots, lease->slot);
    alone_remove(slots, index);
    if (lease->twin >= 0) {
        slots->leases[lease->twin].twin = -1;
        alone_insert(slots, lease->twin);
        lease->twin = -1;
    }
    if (is_late) {
        remember_late(slots, index);
    } else {
        lease_free(slots, index);
    }
}
