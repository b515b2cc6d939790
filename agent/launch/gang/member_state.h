/* member_state.h: the state of a member, which member.c (what the hub says, the loop),
 * member_programs.c (what runs), member_requests.c (what programs of the gang ask for) and
 * member_say.c (messages to the hub) share. Only these four include it. */
#pragma once

#include "agent/launch/gang/connectivity.h"
#include "agent/launch/gang/figures.h"
#include "agent/launch/gang/link.h"
#include "agent/launch/gang/member.h"
#include "agent/launch/pod/notice.h"
#include "agent/launch/pod/process_group.h"
#include "agent/launch/pod/shell.h"

#include <stdatomic.h>

enum { /* ids of processes; others are ranks, and ... */
       MEMBER_PREPARE = -2,
       MEMBER_COMMAND = -1,
       MEMBER_SPAWNED = 1 << 20, /* ... from here on programs started here by other pods */
};

struct member_spawned {
    int id, index; /* here; the pod that asked, ... */
    int64_t asked; /* ... and its number there */
    struct member_spawned *next;
};

/* What a program of this pod has reported, and waits for room on the link. */
struct member_report {
    int64_t id; /* of who asked */
    int64_t round;
    int rank;
    char *lines;
    struct member_report *next;
};

struct member {
    const struct launch_job *job;
    struct shell *shell;
    struct metric_socket *metrics;
    struct figures figures; /* not sent yet */
    int64_t figures_ms;     /* when some were sent last */
    int moved_rank;         /* one that has said a metric since; -1: none */
    int64_t moves;
    struct member_report *reports, **reports_end;
    struct member_spawned *spawned;
    int last_spawned;
    struct hub *hub;
    struct socket_client *socket;
    struct link *link;
    struct process_group *group;
    char incarnation[33];
    char hub_name[64]; /* whom the link's numbers are about */
    int64_t seen;      /* the highest attempt of a hub */
    struct gang_table table;
    int64_t round; /* of the table; 0: none */
    int master_port, port;
    bool is_prepared, is_preparing, has_failed, is_stopping;
    char failure[PROCESS_GROUP_WORDS_MAX];
    int failure_code;
    int64_t alone_since_ms; /* without a hub; -1: not */
    int64_t beat_ms, acknowledged_ms, lines;
    int64_t ends_ms; /* leaving: nothing of this pod may run after that; -1: not leaving */
    struct connectivity *connectivity; /* NULL: no connectivity check */
    struct notice *notice;             /* NULL: no notices for this machine */
    atomic_llong told_ms;              /* by its thread: when it goes; 0: not told */
    char complaint[512];
    int exit_code; /* -1: go on */
};

/* Numbered, and repeated over connections; round: this one, unless the message has another. */
void member_say(struct member *member, struct gang_message *message);
/* What no restart would change. */
void member_fail(struct member *member, int code, const char *what, const char *words);

/* words: the first `assigned` ones are variables. */
NODISCARD int member_start(struct member *member, int id, int slot, char *const *words,
                           size_t assigned, struct error *err);
void member_prepare(struct member *member); /* spec.prepare, if there is one */
void member_go(struct member *member, int64_t round);
/* What ranks that mpirun started have and its own environment has not, JSON; the caller frees.
 * NULL: one is not UTF-8. */
char *member_variables(struct member *member);

/* A program of another pod wants one here. */
void member_spawn(struct member *member, const struct gang_message *asked);
/* A program has ended: the pod that asked for it is notified. False: not one of these. */
bool member_spawn_ended(struct member *member, const struct process_group_end *end);
/* Who asked has ended, or was killed. */
void member_spawn_kill(struct member *member, const struct gang_message *message);
/* What programs of this pod ask for. */
void member_serve(struct member *member);
/* Takes the metrics of its ranks: each counts as progress, and the hub gets figures once a second.
 */
void member_take_metrics(struct member *member, int64_t now_ms);
void member_requests_free(struct member *member);
