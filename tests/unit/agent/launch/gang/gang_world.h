/* gang_world.h: the true state of a gang's pods and the state that the hub knows; every action is
 * checked against both (gang_world.c). test_gang_model.c decides what happens to the pods.
 *
 *  1 There is one round at a time: at START no member that is not lost runs anything of another.
 *  2 START comes when every member of the table is READY for this round and none is leaving.
 *  3 A round's number only grows, and contains the hub's attempt.
 *  4 FINISH or STEP_DOWN comes once, and nothing after it.
 *  5 A round that ends counts one restart, and only for App, Memory and Hang.
 *  6 Between STOP and the next CONFIGURE every member has STOPPED, is lost, or was replaced.
 *  7 There is a deadline unless the gang waits for a pod; it is never in the past, and nothing
 *    happens before it without an event.
 *  8 A table has prepared, connected members, member 0 among them, and fewer than all only after
 *    gather_timeout_ms.
 *  9 A job succeeds only by exits with 0 before any STOP.
 * 10 A job fails only by a fatal cause, or when its last restart was used up.
 * 11 STEP_DOWN comes if and only if a member has met a higher attempt.
 * 12 A round's cause is the first conclusive one, else a rank's exit, else the command's. The hung
 *    rank is the one that was found suspended, if any was.
 * 13 No CONFIGURE comes before the backoff is over.
 * 14 A HELLO of a lower pod attempt is refused, and no other (except after the end).
 * 15 NOTICE comes when a member of a running round leaves with notice, once a round.
 * 16 STOP comes in the same moment in which a round fails. A leaving member has its time until
 *    then; all have the shorter time when all leave.
 * 17 An exit alone is the cause when nothing can explain it any more, and not before.
 * 18 Lost members are reported; if most of them are lost, member 0 is.
 * 19 A member that was OOM-killed with its pod counts as Memory, whether its successor comes before
 *    or after it counted as lost; but not if the round had already failed by the member's own
 *    message. */
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
    int64_t configured_round, runs;                             /* rounds */
    struct mail up, down;
};

/* The hub's view of a pod. */
struct view {
    bool is_known, is_connected, is_prepared, is_leaving, is_lost, is_in_table;
    int serial;
    int64_t attempt, disconnected_ms, may_run, stop_sent_ms, ready_round, configured_ms;
};

struct known_failure {
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
    bool is_peace, is_over, has_later_hub, was_zero, is_fatal;
    bool is_configured, is_started, is_stopped; /* the current round */
    int64_t round, started_ms, progressed_ms, moves, enough_ms, not_before_ms, grace_ms;
    int done_ranks, table_count, rounds_without_progress, counted_restarts, uncounted_restarts,
        notices;
    int lost_index; /* the last round ended for the loss of that member; -1: for another cause */
    bool rank_done[PODS * 4];
    int64_t rank_progress[PODS * 4];
    struct known_failure log[LOG];
    size_t log_count;
    int code;
    int64_t wake_ms;
};

enum reached {
    STARTS,
    STOPS,
    SUCCESSES,
    FAILURES,
    STEPPED_DOWN,
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
    SUSPENDED,
    LATE_MEMORIES,
    UNREACHABLE,
    DELETIONS,
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
