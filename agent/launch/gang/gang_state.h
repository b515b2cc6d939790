/* gang_state.h: the state of a gang, which gang.c (events, facts), gang_round.c (the course of
 * rounds) and gang_actions.c (what the hub is to do) share. Only these three include it. */
#pragma once

#include "agent/launch/gang/gang.h"

struct gang_member {
    bool is_known, is_connected, is_prepared, is_leaving, is_lost;
    bool is_in_round;
    char incarnation[GANG_NAME_MAX];
    int64_t attempt;
    int64_t silent_ms; /* since when it is not connected */
    int64_t runs;      /* a round of which it may run something; 0: nothing */
    int64_t stopping;  /* the round it received STOP for; 0: none, or it has stopped */
    int64_t stop_ms;   /* when it was sent */
    int64_t ready;     /* the last round it said READY of */
};

struct gang_rank {
    int64_t beat_ms, progress;
    bool is_waiting, is_done; /* is_done: exited with 0 */
};

struct gang_queued {
    struct gang_action action;
    int *members;
    struct gang_queued *next;
};

struct gang {
    struct gang_options options;
    struct gang_member members[GANG_MEMBERS_MAX];
    enum gang_state state;
    int64_t born_ms;         /* when it was first asked; -1: not yet */
    int64_t round;           /* the last one that was armed */
    int64_t since_ms;        /* of the state */
    int64_t enough_since_ms; /* GATHERING: min_workers are here; -1: they are not */
    int64_t back_until_ms;   /* BACKING_OFF */
    int64_t notice_until_ms; /* RUNNING: STOP comes then; -1: no member is leaving */
    int64_t settle_ms;       /* the verdict is final then, if no better one comes */
    int64_t moved_ms;        /* RUNNING: when something moved */
    int64_t moves;           /* of the round */
    struct gang_rank *ranks; /* of the round */
    size_t rank_count, ranks_done;
    struct gang_verdict verdict, last;
    int silent;    /* the member whose silence the verdict, or the last one, is about; -1: none */
    int fruitless; /* rounds in a row that came to nothing */
    int counted, disrupted;
    struct gang_queued *first, **end, *given;
    int lost[GANG_MEMBERS_MAX];
};

/* ---- gang_round.c: the course of rounds ------------------------------------------------------ */

/* Records why the round failed. The first cause that explains itself is kept; others are replaced
 * by a better one. */
void gang_blame(struct gang *gang, const struct gang_verdict *why, const char *words,
                int64_t now_ms);
/* A process of the round has ended. */
void gang_exited(struct gang *gang, const struct gang_event *event, int64_t now_ms);
/* A successor reports why its lost predecessor ended. */
void gang_explain_loss(struct gang *gang, const struct gang_event *event, int64_t now_ms);
/* One of its ranks is stopped. */
void gang_halted(struct gang *gang, const struct gang_event *event);
void gang_beat(struct gang *gang, const struct gang_event *event, int64_t now_ms);
/* A member of the round is leaving. */
void gang_leaving(struct gang *gang, const struct gang_event *event, int64_t now_ms);
/* Its connection broke. */
void gang_silent(struct gang *gang, int index, int64_t now_ms);
/* Whatever is due. */
void gang_course(struct gang *gang, int64_t now_ms);

/* ---- gang_actions.c: the queue of actions for the hub ---------------------------------------- */

/* Queues an action for the members of the round; the caller may set its fields until the next
 * call. GANG_DONE goes to all known members. */
struct gang_action *gang_act(struct gang *gang, enum gang_action_kind kind);
/* Queues GANG_STOP for one member: it ends what it runs. */
void gang_stop_one(struct gang *gang, int index, int64_t now_ms);
/* The oldest action. False: the queue is empty. */
bool gang_take_action(struct gang *gang, struct gang_action *ret_action);
void gang_release_actions(struct gang *gang);
