/* gang_event.h: the input of the state machine gang.h (events of members) and its output (actions
 * for the hub). gang.h explains members and rounds. Plain data. */
#pragma once

#include "lib/base.h"

/* Events of a member; `index` and `incarnation` say which. */
enum gang_event_kind {
    GANG_EVENT_HELLO,        /* it has connected (also after a lost connection) */
    GANG_EVENT_PREPARED,     /* the job's `prepare` has succeeded there */
    GANG_EVENT_READY,        /* it has received the round's table and reaches its neighbours */
    GANG_EVENT_UNREACHABLE,  /* it cannot reach another member of the table; which of the two is at
                                fault is unknown */
    GANG_EVENT_EXITED,       /* a process of the round has ended */
    GANG_EVENT_STOPPED,      /* nothing of that round or an earlier one runs there */
    GANG_EVENT_LEAVING,      /* its pod terminates: it received SIGTERM or its machine goes away */
    GANG_EVENT_DISCONNECTED, /* its connection broke */
    GANG_EVENT_HEARTBEAT,    /* a rank is alive */
    GANG_EVENT_OOM_KILLED,   /* the kernel OOM-killed a process there */
    GANG_EVENT_SUSPENDED, /* a process of the round is suspended (SIGSTOP), which explains a hang */
    GANG_EVENT_FATAL,     /* it failed, and would fail again in another round */
    GANG_EVENT_RANK_STARTED, /* a rank of mpirun, or a proxy, starts there (gang_proof.h) */
    GANG_EVENT_RANK_ENDED,   /* it has ended */
    GANG_EVENT_SPAWNED,     /* a command of that member was passed on to another one (ssh, rsh.h) */
    GANG_EVENT_SPAWN_ENDED, /* the other member has reported its end, after its ranks' */
    GANG_EVENT_CHECKED,     /* the hub has checked the stored result (CHECK); index: 0 */
};

struct gang_event {
    enum gang_event_kind kind;
    int index;
    const char *incarnation; /* borrowed, like detail */
    int64_t round;    /* HELLO: the round whose table it has, 0: none; else the round that the
                         event is about */
    int64_t attempt;  /* HELLO: of its pod */
    int64_t seen;     /* HELLO: the highest attempt of a hub that it has been connected to */
    bool is_prepared; /* HELLO */
    bool is_memory;   /* HELLO: the kernel OOM-killed the pod before this one, its agent included */
    int rank;         /* HEARTBEAT, SUSPENDED, RANK_*, EXITED (-1: the command) */
    int code;         /* EXITED, RANK_ENDED: the exit code, or 128 + signal; CHECKED: 0: whole */
    const char *launch; /* RANK_STARTED, RANK_ENDED: as in gang_proof.h, like the next ones; else
                           NULL */
    int size;
    bool is_proxy, was_signalled;
    bool gives_up;      /* EXITED: the rank received nothing from the others for hang_ms */
    int seconds;        /* LEAVING: time until its pod must have ended */
    int64_t progress;   /* HEARTBEAT: any number that differs if the rank made progress */
    bool is_waiting;    /* HEARTBEAT: the rank waits for other ranks */
    const char *detail; /* for people; NULL: none */
};

/* What the hub has to do. */
enum gang_action_kind {
    GANG_ACTION_CONFIGURE, /* send the table of these members to them; they answer READY */
    GANG_ACTION_START,     /* all are ready: start the processes */
    GANG_ACTION_STOP,      /* end all processes of that round and earlier ones; answer STOPPED */
    GANG_ACTION_NOTICE,    /* notify the programs that STOP follows within `seconds` */
    GANG_ACTION_CHECK,     /* all ranks have ended with 0: check what they stored; CHECKED follows
                              for the same round */
    GANG_ACTION_LOOK, /* find out what is kept; gang_note_stored_step follows for the same round (0:
                         none has begun) */
    GANG_ACTION_RELEASE, /* members but 0: their work is done, while the hub still stores results */
    GANG_ACTION_FINISH,  /* once: the job has ended with `code` */
    GANG_ACTION_STEP_DOWN, /* once: a newer hub exists; kill what runs in this pod and exit with 3
                            */
};

struct gang_action {
    enum gang_action_kind kind;
    int64_t round;
    const int *members; /* indexes, ascending; borrowed until the next gang_next_action */
    size_t count;
    int seconds, code;
};
