/* gang_world.h: the true state of a gang's pods and the state that the hub knows; every action is
 * checked against both (gang_world.c). test_gang_model.c decides what happens to the pods.
 *
 *  1 one round at a time: at START no member that is not lost has anything of another round
 *  2 START when every member of the table said READY for this round, and none leaves
 *  3 a round's number only grows, and has the hub's attempt in it
 *  4 DONE or GIVE_WAY once, nothing after it
 *  5 a round that ends is counted only for App, Memory and Hang, and by one
 *  6 between STOP and the next ARM all have STOPPED, or are lost, or replaced
 *  7 a wake is due unless a pod is awaited, and never for a moment that has passed; before it
 *    nothing happens without an event
 *  8 a table has prepared, connected members with member 0, all of them unless `wait_ms` are over
 *  9 success: only what ended with 0 before any STOP
 * 10 failure: only a final cause, or the last restart was used up
 * 11 GIVE_WAY if and only if a higher attempt was heard of
 * 12 a round's cause is the first one that explains itself, else a rank's exit, else the command's;
 *    the hung rank is the one that was found to be stuck, if any was
 * 13 no ARM before the pause of the cause is over
 * 14 a HELLO of a lower pod attempt is refused, and only that one (or at the end)
 * 15 NOTICE when a member of a running round leaves with notice, once a round
 * 16 STOP in the same moment in which a round fails; a leaving member has its grace until then, and
 *    all of them the time that they have when all leave
 * 17 an exit alone is judged when nothing can explain it any more, and not before
 * 18 lost members are reported; if most of them are lost: member 0
 * 19 a member that ended with its pod for lack of memory is counted so, whether its successor comes
 *    before or after it was considered lost; but not if the round had failed before by the member's
 *    own message */
#pragma once

#include "agent/launch/gang/gang.h"

enum { PODS = 6, QUEUE = 64, LOG = 256 };

struct post {
    int64_t due_ms;
    struct gang_event event;   /* up */
    struct gang_action action; /* down */
};
struct mail {
    struct post posts[QUEUE];
    size_t count;
};

/* The true state of a pod. */
struct pod {
    bool is_up, is_linked, is_prepared, is_mute; /* is_mute: it never answers */
    bool is_after_memory;
    int serial;
    int64_t cut_ms;                                             /* when is_linked became false */
    int64_t attempt, relink_ms, prepared_ms, ends_ms, comes_ms; /* -1: never */
    int64_t armed, runs;                                        /* rounds */
    struct mail up, down;
};

/* The hub's view of a pod. */
struct view {
    bool is_known, is_connected, is_prepared, is_leaving, is_lost, is_in_table;
    int serial;
    int64_t attempt, silent_ms, may_run, stop_ms, ready, armed_ms;
};

struct blamed {
    enum gang_cause cause;
    int index, rank, code;
    bool is_silent; /* LOST */
    int64_t at_ms;
};

struct world {
    uint64_t random;
    struct gang_options options;
    struct gang *gang;
    int64_t now_ms;
    struct pod pods[PODS];
    struct view views[PODS];
    bool is_peace, is_over, has_later_hub, was_zero, is_final;
    bool is_armed, is_started, is_stopped; /* the current round */
    int64_t round, started_ms, moved_ms, moves, enough_ms, not_before_ms, grace_ms;
    int done_ranks, table_count, fruitless, counted, disrupted, notices;
    int lost_index; /* the last round ended for the loss of that member; -1: for another cause */
    bool rank_done[PODS * 4];
    int64_t rank_progress[PODS * 4];
    struct blamed log[LOG];
    size_t log_count;
    int code;
    int64_t wake_ms;
};

enum reached {
    STARTS,
    STOPS,
    DONES,
    FAILURES,
    GIVEN_WAY,
    NOTICES,
    REFUSED,
    LOSSES,
    HANGS,
    MEMORIES,
    APPS,
    COMMANDS,
    DISRUPTIONS,
    EXPLAINED,
    SMALLER,
    CUT_OFF,
    HALTED,
    LATE_MEMORIES,
    UNREACHED,
    PARTINGS,
    LOST_BEFORE, /* for another cause, and then ended for lack of memory */
    REACHED
};

int64_t world_dice(struct world *world, int64_t sides);
/* Gives the hub (incarnation: its serial number) an event, takes all actions and checks them. */
void world_tell(struct world *world, struct gang_event event, int serial);
void world_pump(struct world *world);
/* A message on its way to or from a pod: one of the two is NULL. */
void world_post(struct world *world, struct mail *mail, const struct gang_event *event,
                const struct gang_action *action);
/* How often each state was reached, to detect courses that prove nothing. */
const int64_t *world_counts(void);
/* The number of checks that failed here so far; each was printed. */
int world_failures(void);
