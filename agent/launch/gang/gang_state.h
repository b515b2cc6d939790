/* gang_state.h: the state of a gang, shared by gang.c (events, facts), gang_round.c (the course of
 * rounds), gang_final.c (which ends of a program are permanent), gang_success.c (what counts as
 * success, and as progress) and gang_actions.c (the queue of actions). Private to these five. */
#pragma once

#include "agent/launch/gang/gang.h"

/* What the hub knows of a member. */
struct gang_member {
    bool is_known; /* it has said hello once */
    bool is_connected, is_prepared, is_leaving, is_lost;
    bool is_in_round; /* it is in the table of the current round */
    char incarnation[GANG_INCARNATION_MAX];
    int64_t attempt;         /* of its pod */
    int64_t disconnected_ms; /* since when it is not connected */
    int64_t running_round;   /* the round of which it may run something; 0: nothing runs */
    int64_t stopping_round;  /* the round that it was asked to stop; 0: none, or it has stopped */
    int64_t stop_sent_ms;    /* when it was asked */
    int64_t ready_round;     /* the last round that it was ready for */
};

struct gang_rank {
    int64_t heartbeat_ms; /* of its last heartbeat; -1: none yet */
    int changes;          /* of its number; the first may only show that it has started */
    int64_t progress;     /* of that heartbeat */
    bool is_waiting;      /* for other ranks */
    bool is_done;         /* exited with 0 */
};

struct queued_action {
    struct gang_action action;
    int *members; /* action.members; owned */
    struct queued_action *next;
};

struct gang {
    struct gang_options options;
    struct gang_member members[GANG_MEMBERS_MAX];
    enum gang_state state;
    int64_t since_ms;         /* of the state */
    int64_t first_call_ms;    /* of gang_advance; -1: not yet called */
    int64_t round;            /* the last one that was configured; 0: none */
    bool is_resumed;          /* the round ended under an earlier hub (gang_options.ended) */
    int64_t quorum_since_ms;  /* GATHERING: since when min_workers are usable; -1: they are not */
    int64_t backoff_until_ms; /* BACKOFF */
    int64_t notice_until_ms;  /* RUNNING: STOP follows then; -1: no member is leaving */
    int64_t progressed_ms;    /* RUNNING: when a rank made progress last */
    int64_t progress_count;   /* how often, in this round */
    struct gang_rank *ranks;  /* of the round */
    struct gang_proof *proof; /* of the round: the ranks that the command starts; NULL: no round */
    int open_spawns;          /* of the round: SPAWNED, and not ended */
    int64_t command_ended_ms; /* RUNNING: when the command ended with 0; -1: it has not */
    size_t rank_count, ranks_done;
    struct gang_failure failure; /* of the current round, as far as it is known; cause NONE: none */
    int64_t failure_final_ms;    /* without a better explanation by then, it is the cause */
    struct gang_failure last_failure; /* of the round before */
    int unresponsive;            /* the member whose silence is the current or last failure; -1 */
    int rounds_without_progress; /* in a row; the first round counts as one */
    int64_t kept_step;           /* of the newest checkpoint; -1: not known */
    int64_t look_since_ms;       /* STOPPING: when LOOK was queued; -1: it was not */
    bool has_looked;             /* ... and answered */
    bool has_kept;               /* since the last counted restart */
    int forgiven;
    int counted_restarts, uncounted_restarts;
    bool has_progressed;           /* a rank in any round, or perhaps one under an earlier hub */
    struct gang_failure last_exit; /* the last end of a program by its own exit code; cause NONE:
                                      none, or another end has made it useless */
    bool has_done_more;            /* since then it has reported something or run for long */
    bool is_signalled;             /* in this round a signal of somebody else ended a process */
    struct queued_action *first, **end; /* actions for the hub */
    struct queued_action *taken; /* the one that the hub has: borrowed memory is freed later */
    int lost[GANG_MEMBERS_MAX];  /* gang_facts.lost */
};

/* ---- gang_round.c: the course of rounds ------------------------------------------------------ */

/* Records why the current round fails. The first conclusive cause is kept; an exit, which may be
 * the consequence of another failure, is replaced by a better explanation. detail may be NULL. */
void gang_fail_round(struct gang *gang, const struct gang_failure *why, const char *detail,
                     int64_t now_ms);
/* The events of these names, of a member whose incarnation is current. */
void gang_exited(struct gang *gang, const struct gang_event *event, int64_t now_ms);
void gang_suspended(struct gang *gang, const struct gang_event *event);
void gang_heartbeat(struct gang *gang, const struct gang_event *event, int64_t now_ms);
void gang_checked(struct gang *gang, const struct gang_event *event, int64_t now_ms);
void gang_leaving(struct gang *gang, const struct gang_event *event, int64_t now_ms);
void gang_disconnected(struct gang *gang, int index, int64_t now_ms);
/* A HELLO with is_memory: the member that counted as lost was OOM-killed; corrects the cause. */
void gang_explain_loss(struct gang *gang, const struct gang_event *event, int64_t now_ms);
/* Applies all time limits, and enters the next states. */
void gang_advance(struct gang *gang, int64_t now_ms);

/* ---- gang_final.c: which ends of a program are permanent ------------------------------------ */

/* An exit of the current round, which may be by a signal. */
void gang_note_signal(struct gang *gang, int code, int64_t now_ms);
/* The round has ended: makes its failure GANG_CAUSE_REPEATED if the program would fail so again. */
void gang_recognize_final(struct gang *gang);

/* ---- gang_success.c: what counts as success, and as progress ------------------------------- */

/* The events RANK_STARTED, RANK_ENDED, SPAWNED, SPAWN_ENDED. */
void gang_rank_reported(struct gang *gang, const struct gang_event *event);
/* Whether a command that ended with 0 is a success; reason: set unless it is. */
enum gang_proof_state gang_settled(const struct gang *gang, struct gang_proof_reason *reason);
/* The pod of that rank: all pods of the round have the same number of ranks. -1: none. */
int gang_index_of(const struct gang *gang, int rank);
/* For gang_facts.proof_by and proof_count. */
enum gang_proof_by gang_known_by(const struct gang *gang, int64_t *ret_count);

/* Queues LOOK where what is stored counts, and its answer is not known. Call it when nothing runs
 * any more, so that what is stored is all that the round has kept. */
bool gang_is_looking(struct gang *gang, int64_t now_ms);
/* Counts one. False: one too many. */
bool gang_count_restart(struct gang *gang);

/* ---- gang_actions.c: the queue of actions for the hub ---------------------------------------- */

/* Queues an action for the members of the round (FINISH: for all known members). The caller may
 * set its fields until the next call. */
struct gang_action *gang_queue_action(struct gang *gang, enum gang_action_kind kind);
/* Queues STOP for one member, for whatever it runs. */
void gang_queue_stop(struct gang *gang, int index, int64_t now_ms);
/* Queues RELEASE for one member: all ranks have ended, and no round follows. */
void gang_queue_release(struct gang *gang, int index);
/* Takes the oldest action, valid until the next call. False: the queue is empty. */
bool gang_take_action(struct gang *gang, struct gang_action *ret_action);
void gang_release_actions(struct gang *gang);
