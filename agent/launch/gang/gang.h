/* gang.h: the state machine of a gang: it decides when the ranks of a DistTrain start, why a round
 * of them ends, and whether another round follows (docs/gangs.md). Pure: the hub (hub.h) passes in
 * events with the current time and carries out the actions in order. Not thread-safe. gang_event.h
 * has the events (HELLO, READY, ...) and actions (CONFIGURE, START, STOP, ...).
 *
 * Member: the agent of one pod, identified by the pod's index (0 to workers - 1). The pod of index
 * 0 runs the hub beside its own member. A member's incarnation is a random name of the agent
 * process; its attempt is the number of the pod that has that index, from 1. A replaced pod has a
 * new incarnation and a higher attempt.
 *
 * Round: one start of all ranks. Its number is (attempt of the hub's pod) << GANG_ROUND_BITS | n,
 * so numbers also grow from one hub to its successor. Each round has a table of its members
 * (gang_table.h), which fixes ranks and addresses.
 *
 *   GATHERING -> CONFIGURING -> RUNNING -> STOPPING -> BACKOFF -> GATHERING ...
 *                     |         |    |         |
 *                     v         |    v         v
 *                  STOPPING     | CHECKING  FINISHED
 *                               v    |
 *                          FINISHED <+ (or STOPPING)
 *
 * RUNNING -> FINISHED is success: all processes exited with 0, each reported by its pod
 * (GANG_EVENT_EXITED). Where a command starts the ranks (mpirun), its 0 alone does not suffice: the
 * ranks that are known must have ended with 0 (GANG_EVENT_RANK_ENDED, gang_proof.h), within
 * GANG_EXPLAIN_COMMAND_MS, for which the state stays RUNNING. With checks_result the hub first
 * verifies the stored result (CHECKING); a hub whose predecessor ended there begins there.
 * STOPPING -> FINISHED: no further round is allowed. Any state becomes FINISHED when a member's
 * command spec.prepare fails (GANG_EVENT_FATAL) or a newer hub exists.
 *
 * Progress: a round has made progress when at least two HEARTBEATs brought a changed number
 * (gang_event.progress; the first may only show that a rank has started), or when it has run for
 * GANG_STABLE_MS. */
#pragma once

#include "agent/launch/gang/gang_cause.h"
#include "agent/launch/gang/gang_event.h"
#include "agent/launch/proof/gang_proof.h"

enum {
    GANG_MEMBERS_MAX = 1000,
    GANG_INCARNATION_MAX = 64, /* bytes, NUL included */
    GANG_CODE_NOT_FOUND = 127, /* code of GANG_EVENT_FATAL: the command does not exist */

    /* A member is lost when it has no connection for GANG_LOST_MS, does not answer STOP
     * within GANG_STOP_TIMEOUT_MS, or CONFIGURE within GANG_READY_TIMEOUT_MS. */
    GANG_LOST_MS = 15000,
    GANG_STOP_TIMEOUT_MS = 15000,
    GANG_READY_TIMEOUT_MS = 60000,

    /* Time for a failure that explains an exit to be reported: a rank's exit becomes the cause of
     * the round's end only after GANG_EXPLAIN_RANK_MS, and that of the command that starts the
     * ranks (mpirun) only after GANG_EXPLAIN_COMMAND_MS. */
    GANG_EXPLAIN_RANK_MS = 500,
    GANG_EXPLAIN_COMMAND_MS = 12000,

    GANG_LOOK_MS = 10000,   /* for the store to answer LOOK; then only reported steps count */
    GANG_CHECK_MS = 600000, /* for CHECKED; else the round has failed */
    GANG_NOTICE_MS = 20000, /* default of gang_options.notice_ms */
    GANG_DELETION_NOTICE_MS = 5000, /* deletion_notice_ms for programs that may ignore notices */

    /* A member without its hub for this time kills its programs; then the hub's successor may start
     * a round. Until then a lost member's programs may run. A round of all workers waits for its
     * STOPPED or for another pod; one of fewer (min_workers) does not: late writes do not count. */
    GANG_SELF_FENCE_MS = 30000,
    GANG_BACKOFF_MAX_MS = 60000,
    GANG_STABLE_MS = 60000, /* a round that ran this long has made progress */
};

enum gang_state {
    GANG_STATE_GATHERING,   /* waits until enough members are connected and prepared */
    GANG_STATE_CONFIGURING, /* the members got the round's table; waits until all are ready */
    GANG_STATE_RUNNING,     /* the ranks run */
    GANG_STATE_STOPPING,    /* waits until nothing runs and the cause is known */
    GANG_STATE_BACKOFF,     /* waits before the next round */
    GANG_STATE_CHECKING,    /* all ranks have ended with 0; waits until the result is checked */
    GANG_STATE_FINISHED,    /* the job has ended, or another hub has taken over */
};

struct gang_options {
    int workers;               /* members of a full gang */
    int min_workers;           /* a round may start with this few members ... */
    int64_t gather_timeout_ms; /* ... after waiting this long for the others */
    int slots;                 /* ranks per member */
    int processes;             /* processes that START starts on each member; 0: one, on member 0,
                                  which starts the ranks itself (mpirun) */
    bool needs_all_slots; /* without processes: success needs a launch of all the round's slots */
    bool looks_for_kept;  /* LOOK at the start, and before a restart is counted */
    bool checks_result;   /* success waits for CHECKED, and needs it to be 0 ... */
    bool may_lack_result; /* ... unless this: the exits alone decide */
    bool ends_repeated;   /* the same failure twice in a row is final (gang_final.c) */
    struct gang_ended ended; /* under an earlier hub (ended.h): the gang begins in CHECKING */
    int max_restarts; /* counted ones since the last progress that was kept (gang_note_checkpoint);
                         with more the job fails, also with more than CONTRACT_LIFE_RESTARTS */
    int64_t backoff_ms; /* before a counted restart; doubles with each round without
                           progress, to GANG_BACKOFF_MAX_MS; an uncounted one: 0, 1 s, ... */
    int64_t hang_ms;    /* 0: hangs are not detected */
    /* When a member announces that its pod terminates, the round gets a notice, so that programs
     * write a last checkpoint; it is stopped after this time or the pod's own, whichever is less.
     * 0: GANG_NOTICE_MS. */
    int64_t notice_ms;
    int64_t deletion_notice_ms; /* instead of notice_ms when all members of a gang of several
                                   leave: then the job is being deleted. 0: notice_ms */
    int64_t attempt;            /* of this hub's pod */
    int counted_restarts, uncounted_restarts; /* under earlier hubs */
    int forgiven; /* of the counted ones, those before the last progress that was kept */
};

struct gang_facts {
    enum gang_state state;
    int64_t round;
    int registered;                           /* members that are connected */
    int prepared;                             /* of these, spec.prepare has succeeded there */
    int members;                              /* of the round */
    int counted_restarts, uncounted_restarts; /* earlier hubs' included */
    int forgiven;
    struct gang_failure last_failure; /* of the last round that ended */
    enum gang_proof_by proof_by;      /* FINISHED with 0: the evidence, and ... */
    int64_t proof_count;              /* ... how many ranks, proxies, processes ended */
    /* The pods to replace: the lost members, or member 0 alone if most are lost, because then it
     * is the one that is cut off. Borrowed until the next gang_read_facts or gang_handle. */
    const int *lost;
    size_t lost_count;
};

struct gang;

struct gang *gang_new(const struct gang_options *options); /* copies the options */
void gang_free(struct gang *gang);                         /* accepts NULL */

void gang_note_metric(struct gang *gang); /* the program has reported a metric (gang_final.c) */
/* A checkpoint of this step is stored. If it is the highest so far, the count of restarts begins at
 * 0 again. The first step that a hub's successor receives may be an old one. */
void gang_note_checkpoint(struct gang *gang, int64_t step);
/* After LOOK: the highest step in the store; 0: none; -1: unknown. round 0: before any round. */
void gang_note_stored_step(struct gang *gang, int64_t round, int64_t step);
/* Handles an event; one that means nothing in the current state changes nothing. False: ignored,
 * since its pod was replaced or the job has ended; the hub answers such a HELLO with DONE. */
bool gang_handle(struct gang *gang, const struct gang_event *event, int64_t now_ms);
/* True if this HELLO comes too early: it is of the successor of a pod that still terminates and may
 * write a last checkpoint. The hub then closes the connection instead of calling gang_handle, and
 * the successor tries again. */
bool gang_is_hello_early(const struct gang *gang, const struct gang_event *hello);
/* Takes the next action. False: there is none now. */
bool gang_next_action(struct gang *gang, int64_t now_ms, struct gang_action *ret_action);
/* When to call gang_next_action again if no event comes; INT64_MAX: only an event can change
 * anything. */
int64_t gang_deadline_ms(const struct gang *gang);
void gang_read_facts(struct gang *gang, struct gang_facts *ret_facts);
/* The exits by which a success is known (at most GANG_EXITS_MAX; NULL: none); the caller frees. */
struct gang_exit *gang_exits(const struct gang *gang, size_t *ret_count);
