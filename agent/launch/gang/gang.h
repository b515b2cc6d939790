/* gang.h: when the ranks of a gang start, when and why they are stopped, and whether they restart:
 * the state machine of docs/gangs.md. Pure: the time is an argument; the hub passes events in and
 * carries out the actions in order. One thread.
 *
 * A member is a pod, known by index and incarnation. A round is one start of all ranks: attempt (of
 * the hub's pod) << 20 | n, so rounds also grow from hub to hub. */
#pragma once

#include "lib/base.h"

enum {
    GANG_MEMBERS_MAX = 1000,
    GANG_ROUND_BITS = 20,
    GANG_NAME_MAX = 64,      /* bytes of an incarnation */
    GANG_WORDS_MAX = 512,    /* of what a cause says */
    GANG_NOT_FOUND = 127,    /* code of FINAL: there is no such command */
    GANG_LOST_MS = 15000,    /* of a connection that broke: longer is lost */
    GANG_STOP_MS = 15000,    /* to answer STOP, and ... */
    GANG_ARM_MS = 60000,     /* ... ARM: longer is lost */
    GANG_EXPLAIN_MS = 12000, /* the starting command's code alone waits so long for a cause ... */
    GANG_SETTLE_MS = 500,    /* ... and the exit of a rank, which may be a consequence */
    GANG_NOTICE_MS = 20000,  /* default of notice_ms, and ... */
    GANG_PARTING_MS = 5000,  /* ... parting_ms of programs that may not heed a notice */
    GANG_FENCE_MS = 30000,   /* a member without a hub ends what it runs after this */
    GANG_BACKOFF_MAX_MS = 60000,
    GANG_FRUITFUL_MS = 60000, /* a round that ran so long was not in vain */
};

enum gang_cause {
    GANG_CAUSE_NONE,
    GANG_DISRUPTION, /* not counted: a pod leaves, or another one is in its place */
    GANG_LOST,       /* not counted: silent, or it does not answer */
    GANG_OUT_OF_MEMORY,
    GANG_APP,      /* a rank's exit, or the command's */
    GANG_HUNG,     /* nothing moved for hang_ms; with a code: a rank has given up the others */
    GANG_NO_RETRY, /* a restart would not help */
};

enum gang_state {
    GANG_GATHERING,
    GANG_ARMING,
    GANG_RUNNING,
    GANG_STOPPING,
    GANG_BACKING_OFF,
    GANG_OVER,
};

struct gang_options {
    int workers, min_workers;
    int slots;     /* of a member */
    int processes; /* that START makes on each member; 0: one on member 0 starts the ranks */
    int max_restarts;
    int64_t backoff_ms, wait_ms;
    int64_t hang_ms;    /* 0: never */
    int64_t notice_ms;  /* of its grace, for a last checkpoint; 0: GANG_NOTICE_MS */
    int64_t parting_ms; /* the same where all of several leave (the job is deleted); 0: notice_ms */
    int64_t attempt;    /* of this hub's pod */
    int counted, disrupted; /* restarts so far, of earlier hubs */
};

enum gang_event_kind {
    GANG_HELLO,     /* on every connection */
    GANG_PREPARED,  /* `prepare` has run */
    GANG_READY,     /* the table of that round is carried out */
    GANG_UNREACHED, /* another pod of the table is unreachable; which of both is at fault is unknown
                     */
    GANG_EXITED,    /* a process of that round */
    GANG_STOPPED,   /* nothing of that round or an earlier one is running */
    GANG_LEAVING,   /* it received SIGTERM, or its machine goes away */
    GANG_SILENT,    /* its connection broke; HELLO ends that */
    GANG_BEAT,      /* a rank lives */
    GANG_MEMORY,    /* the kernel OOM-killed there */
    GANG_HALTED,    /* a rank of that round is stopped (SIGSTOP): that is why nothing moved */
    GANG_FINAL,     /* what no restart would change */
};

struct gang_event {
    enum gang_event_kind kind;
    int index;
    const char *incarnation; /* borrowed, as words */
    int64_t round;           /* HELLO: the last table it still has, 0: none; else whose */
    int64_t attempt;         /* HELLO: of its pod */
    int64_t seen;            /* HELLO: the highest attempt of a hub that it heard of */
    bool is_prepared;        /* HELLO */
    bool is_memory;    /* HELLO: the pod before it was ended for want of memory, with all in it */
    int rank;          /* EXITED: -1: the starting command; BEAT */
    int code;          /* EXITED: 128 + signal, where one ended it */
    bool gives_up;     /* EXITED: it has heard nothing of the others for hang_ms: a hang */
    int seconds;       /* LEAVING: how long it has */
    int64_t progress;  /* BEAT: any number that differs when something moved */
    bool is_waiting;   /* BEAT: for other ranks */
    const char *words; /* EXITED, UNREACHED, MEMORY, HALTED, FINAL, HELLO (is_memory): for people;
                          NULL: none */
};

enum gang_action_kind {
    GANG_ARM,      /* the table of these members goes to all of them */
    GANG_START,    /* they have all answered READY */
    GANG_STOP,     /* end all of that round and of earlier ones, then say STOPPED */
    GANG_NOTICE,   /* somebody leaves in `seconds`, or sooner where all the others do, too */
    GANG_DONE,     /* once: the job is over, with `code` */
    GANG_GIVE_WAY, /* once: there is a later hub; kill what runs here, exit 3 */
};

struct gang_action {
    enum gang_action_kind kind;
    int64_t round;
    const int *members; /* indexes, rising; borrowed until the next gang_next */
    size_t count;
    int seconds, code;
};

struct gang_verdict {
    enum gang_cause cause;
    int index, rank, code; /* -1: none */
    char words[GANG_WORDS_MAX];
};

struct gang_facts {
    enum gang_state state;
    int64_t round;
    int registered, prepared; /* members that are connected, and of these ready to run */
    int members;              /* of the round */
    int counted, disrupted;
    struct gang_verdict last; /* of the last round that ended */
    /* Whose pods are to be replaced: members that are lost; member 0 alone where most are (then it
     * is the one that is cut off). Borrowed until the next call. */
    const int *lost;
    size_t lost_count;
};

struct gang;

struct gang *gang_new(const struct gang_options *options);
void gang_free(struct gang *gang); /* NULL is fine */

/* False: the event comes from a pod that was replaced, or after the end, and changes nothing; the
 * hub answers such a HELLO with `done`. Events that make no sense are ignored. */
bool gang_tell(struct gang *gang, const struct gang_event *event, int64_t now_ms);
/* Whether that HELLO is too early: the pod before it is leaving and uses its time for a last
 * checkpoint. Do not pass it to gang_tell; the pod repeats it. */
bool gang_is_early(const struct gang *gang, const struct gang_event *hello);
/* The next action, until false. */
bool gang_next(struct gang *gang, int64_t now_ms, struct gang_action *ret_action);
/* The latest time to call gang_next; INT64_MAX: only an event can change anything. */
int64_t gang_wake_ms(const struct gang *gang);
void gang_facts(struct gang *gang, struct gang_facts *ret_facts);

const char *gang_cause_name(enum gang_cause cause); /* "Disruption", ...; GANG_CAUSE_NONE: "" */
bool gang_cause_is_counted(enum gang_cause cause);
