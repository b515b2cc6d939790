/* member_state.h: the state of a member, shared by member.c (the hub's messages, the event loop),
 * member_programs.c (starts programs), member_requests.c (requests of the pod's programs) and
 * member_send.c (messages to the hub). Private to these four. */
#pragma once

#include "agent/launch/gang/connectivity.h"
#include "agent/launch/gang/latest_metrics.h"
#include "agent/launch/gang/link.h"
#include "agent/launch/gang/member.h"
#include "agent/launch/pod/agent_socket.h"
#include "agent/launch/pod/notice.h"
#include "agent/launch/pod/process_group.h"
#include "agent/launch/rank/status_server.h"
#include "agent/launch/tunnel/tunnel.h"

#include <stdatomic.h>

enum {                           /* process ids in the group; 0 and above are ranks */
       MEMBER_PREPARE = -2,      /* spec.prepare */
       MEMBER_COMMAND = -1,      /* spec.command where it starts the ranks itself (mpirun) */
       MEMBER_SPAWNED = 1 << 20, /* this and above: commands that another pod asked for */
};

/* A command that runs here because a program of another pod asked for it (rsh.h). */
struct member_spawned {
    int id;            /* in the process group */
    int index;         /* of the pod that asked, ... */
    int64_t requested; /* ... and the request's id there */
    bool is_proxy;     /* it starts ranks (gang_proof.h) */
    struct member_spawned *next;
};

/* A rank of mpirun that runs in this pod: the process that wraps it, which reports its end (rank.h)
 * unless it is killed. */
struct member_rank {
    int fd; /* a pidfd */
    int number, size;
    char launch[GANG_LAUNCH_NAME_MAX];
    struct member_rank *next;
};

/* A REPORT of a program of this pod that waits for room on the link. */
struct member_report {
    int64_t id; /* of the request */
    int64_t round;
    int rank;
    char *lines;
    struct member_report *next;
};

struct member {
    const struct launch_job *job;
    struct hub *hub; /* in the pod of index 0; else NULL */

    /* The connection to the hub. */
    struct socket_client *socket;
    struct link *link;
    char incarnation[33];          /* a random name of this process */
    char hub_name[64];             /* the hub's, to which the link's numbers belong; "": none yet */
    int64_t seen_attempt;          /* the highest attempt of a hub that it has met */
    int64_t disconnected_since_ms; /* -1: connected */
    int64_t acknowledged_ms;       /* when the link was asked to acknowledge */
    char logged_error[512];        /* so that the same error is logged once */

    /* The round. */
    struct gang_table table;
    int64_t round;         /* of the table; 0: none */
    int master_port, port; /* free ports: member 0's, and this pod's */
    struct connectivity *connectivity;
    struct tunnel *tunnel; /* NULL: this pod has no address of its own */
    char *preload;         /* the library for mpirun (preload.c); NULL: none */
    bool is_prepared, is_preparing, has_failed, is_stopping;
    char failure[PROCESS_GROUP_DETAIL_MAX]; /* if has_failed */
    int failure_code;

    /* The programs and their requests. */
    struct process_group *group;
    struct agent_socket *requests;
    struct member_spawned *spawned;
    struct member_rank *ranks;
    size_t rank_count;
    int last_spawned;
    int64_t heartbeat_ms, heartbeat_lines; /* of the last heartbeat because of output */
    int64_t line_ms;                       /* when the last line was shown */

    /* Metrics. */
    struct metric_socket *metrics;
    struct status_server *status; /* NULL: none */
    struct latest_metrics latest; /* not sent yet */
    int64_t metrics_sent_ms;
    int active_rank;  /* a rank that reported a metric since the last heartbeat; -1: none */
    int64_t activity; /* counts those heartbeats */
    struct member_report *reports, **reports_end;
    int64_t posted_round;                    /* in which the objective was posted last; 0: never */
    char waits[GANG_MESSAGE_DETAIL_MAX + 1]; /* the newest of WAITS, not sent yet, ... */
    int64_t waits_round;                     /* ... and its round; 0: it was sent */

    /* Leaving. */
    struct notice *notice;           /* NULL: no notices for this machine */
    atomic_llong notice_leave_by_ms; /* set by the notice's thread; 0: no notice yet */
    int64_t leave_by_ms;             /* nothing of this pod may run after that; -1: not leaving */
    int exit_code;                   /* -1: continue */
};

/* ---- member_send.c --------------------------------------------------------------------------- */

/* Sends over the link. A message without a round gets the current one. */
void member_send(struct member *member, struct gang_message *message);
/* Sends FAILED: "WHAT: DETAIL", a permanent failure. */
void member_fail(struct member *member, int code, const char *what, const char *detail);

/* ---- member_programs.c ----------------------------------------------------------------------- */

/* Starts arguments[assigned...]; the first `assigned` ones are NAME=VALUE for its environment. */
NODISCARD int member_start(struct member *member, int id, int slot, char *const *arguments,
                           size_t assigned, struct error *err);
void member_prepare(struct member *member);                    /* starts spec.prepare, if any */
void member_start_round(struct member *member, int64_t round); /* starts the pod's processes */
/* The file in which a program that mpirun started here notes a rank's end (preload_frame.h); the
 * caller frees. */
char *member_rank_ends(const struct member *member, int id);
/* The variables that mpirun's ranks have and its own environment lacks, as a JSON object; the
 * caller frees. NULL: one is not UTF-8. */
char *member_variables(struct member *member);

/* ---- member_requests.c ----------------------------------------------------------------------- */

/* Starts a command that a program of another pod asked for. */
void member_spawn(struct member *member, const struct gang_message *asked);
/* Reports the end of such a command to the pod that asked. False: the process is not one. */
bool member_spawn_ended(struct member *member, const struct process_group_end *end);
/* Kills such a command, because its client is gone. */
void member_spawn_kill(struct member *member, const struct gang_message *message);
/* Reports the ranks that were killed together with what would have reported their end. Call it
 * before member_serve_requests, so that these ends precede the next starts. */
void member_report_killed(struct member *member);
/* Handles the requests of this pod's programs (agent_socket.h). */
void member_serve_requests(struct member *member);
/* Receives metrics of this pod's ranks. Each counts as progress; the newest ones are sent to the
 * hub once a second. */
void member_take_metrics(struct member *member, int64_t now_ms);
void member_requests_free(struct member *member);
